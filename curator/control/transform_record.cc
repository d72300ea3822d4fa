#include "curator/control/transform_record.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "curator/data/description.h"
#include "curator/ledger/data_paths.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using nlohmann::json;

// A name of a user or a program.
constexpr std::size_t kLongestName = 256;

absl::Status Append(AuditLog* audit, const TransformRecord& record) {
  return WriteAudit(audit, "transform-asked",
                    {{"dataset", record.dataset},
                     {"population", record.population},
                     {"model_sha256", HexOf(record.model)},
                     {"output", record.output},
                     {"by", record.by}},
                    AuditSync::kDurable);
}

absl::StatusOr<json> Record(AuditLog* audit, const json& request) {
  TransformRecord record;
  record.dataset = request.at("dataset").get<std::string>();
  record.population = request.at("population").get<std::string>();
  record.output = request.at("output").get<std::string>();
  record.by = request.at("by").get<std::string>();
  const std::optional<Digest> model =
      DigestOfHex(request.at("model_sha256").get<std::string>());
  if (!IsName(record.dataset) || !IsName(record.population) ||
      !model.has_value() || record.output.size() > kLongestRecordedPath ||
      record.by.size() > kLongestName) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "control-request-malformed",
                   "The record of a transform is not readable: use "
                   "dpnmf-curator transform of the server's version.");
  }
  record.model = *model;
  DPNMF_RETURN_IF_ERROR(Append(audit, record));
  return json::object();
}

absl::Status RecordHere(const std::string& data_dir,
                        const std::string& audit_file,
                        const TransformRecord& record) {
  DPNMF_ASSIGN_OR_RETURN(
      const FileLock lock,
      FileLock::Take(
          LedgerLock(data_dir),
          Refusal(absl::StatusCode::kFailedPrecondition, "data-dir-in-use",
                  absl::StrCat("Another process holds the ledger "
                               "of `",
                               data_dir,
                               "` and does not write entries of the audit log: "
                               "try again when it serves or has ended."))));
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<AuditLog> audit,
      AuditLog::Open(audit_file.empty() ? AuditFile(data_dir) : audit_file));
  return Append(audit.get(), record);
}

}  // namespace

ControlHandlers TransformRecordHandlers(AuditLog* audit) {
  return {{"record-transform",
           [audit](const json& request) { return Record(audit, request); }}};
}

absl::Status RecordTransform(const std::string& data_dir,
                             const std::string& audit_file,
                             const TransformRecord& record) {
  const absl::Status asked =
      AskControl(data_dir, {{"request", "record-transform"},
                            {"dataset", record.dataset},
                            {"population", record.population},
                            {"model_sha256", HexOf(record.model)},
                            {"output", record.output},
                            {"by", record.by}})
          .status();
  if (ReasonCode(asked) != "server-not-running") return asked;
  return RecordHere(data_dir, audit_file, record);
}

}  // namespace dpnmf::curator
