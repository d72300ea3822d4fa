#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/render/names.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/files/npz.h"
#include "common/files/read_file.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/release.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

// Above what a release has (D up to 10,000,000 and M up to 1,024).
constexpr std::uint64_t kLargestReleaseFile = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostReleaseRows = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostReleaseColumns = 4096;

struct ExportFlags {
  std::string run;
  bool moments = false;
  std::string output;
  std::string bundle;
};

// Gathers the messages of GetRelease with `matrices`.
class MatricesReader {
 public:
  absl::Status Add(const v1::ReleaseReply& message) {
    if (message.has_header()) {
      header_ = message.header();
      names_.emplace(header_.dataset().features(), 0);
      return absl::OkStatus();
    }
    if (message.has_items() && names_.has_value())
      return names_->Add(message.items()).ok() ? absl::OkStatus()
                                               : AnswerIncomplete("release");
    if (!message.has_matrix()) return AnswerIncomplete("release");
    const v1::ReleaseMatrix& piece = message.matrix();
    auto found = readers_.find(piece.name());
    if (found == readers_.end()) {
      if (readers_.size() >= 16) return AnswerIncomplete("release");
      DPNMF_ASSIGN_OR_RETURN(
          RealMatrixReader reader,
          RealMatrixReader::Create(piece.shape(), kMostReleaseRows,
                                   kMostReleaseColumns));
      found = readers_.emplace(piece.name(), std::move(reader)).first;
      stddev_[piece.name()] = {piece.stddev(), piece.diagonal_stddev()};
    }
    return found->second.Add(piece.entries());
  }

  // The archive: docs/reference/refit.md.
  absl::StatusOr<std::string> Npz() {
    NpzWriter file;
    for (auto& [name, reader] : readers_) {
      if (!reader.complete()) return AnswerIncomplete("release");
      const Eigen::MatrixXd matrix = reader.Take();
      if (name == "G") {
        file.AddMatrix(name, matrix);
      } else {
        file.AddVector(name, matrix.reshaped());
      }
      if (name != "rows") {
        file.AddVector(
            absl::StrCat(name, "_stddev"),
            Eigen::Vector2d(stddev_[name].first, stddev_[name].second));
      }
    }
    if (!readers_.contains("G")) return AnswerIncomplete("release");
    file.AddInteger("users",
                    static_cast<std::int64_t>(header_.dataset().users()));
    if (names_.has_value() && names_->complete() && names_->next() > 0) {
      const ItemList features = names_->Take();
      if (header_.dataset().named_features())
        file.AddTexts("features", features.ids);
      if (!features.weights.empty()) {
        file.AddVector("weights",
                       Eigen::Map<const Eigen::VectorXd>(
                           features.weights.data(),
                           static_cast<Eigen::Index>(features.weights.size())));
      }
    }
    return file.Take();
  }

  const v1::ReleaseHeader& header() const { return header_; }

 private:
  v1::ReleaseHeader header_;
  std::optional<ItemPagesReader> names_;
  std::map<std::string, RealMatrixReader> readers_;
  std::map<std::string, std::pair<double, double>> stddev_;
};

v1::ReleaseReport WrittenReport(const v1::ReleaseHeader& header,
                                const std::string& output) {
  v1::ReleaseReport report;
  report.set_run_id(header.run().run_id());
  report.set_dataset(header.run().specification().parameters().dataset());
  *report.mutable_plan() = header.run().plan();
  report.set_output(output);
  return report;
}

absl::StatusOr<ExitCode> ExportMoments(const Session& session,
                                       const AnalystClient& client,
                                       const v1::GetReleaseRequest& request,
                                       const std::string& output) {
  MatricesReader release;
  DPNMF_RETURN_IF_ERROR(client.GetRelease(
      request,
      [&](const v1::ReleaseReply& message) { return release.Add(message); }));
  DPNMF_ASSIGN_OR_RETURN(const std::string bytes, release.Npz());
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(output, bytes));
  session.Print(
      WrittenReport(release.header(), output),
      absl::StrCat("wrote ", output,
                   ": the released second moment, its noise and its rows\n"));
  return kExitOk;
}

absl::StatusOr<ExitCode> ExportBundle(const Session& session,
                                      const AnalystClient& client,
                                      const v1::GetReleaseRequest& request,
                                      const std::string& output) {
  std::string framed;
  v1::ReleaseHeader header;
  DPNMF_RETURN_IF_ERROR(
      client.GetRelease(request, [&](const v1::ReleaseReply& message) {
        if (message.has_header()) header = message.header();
        framed += FramedRelease(message);
        return framed.size() <= kLargestReleaseFile
                   ? absl::OkStatus()
                   : AnswerIncomplete("release");
      }));
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(output, ReleaseFileOf(framed)));
  session.Print(
      WrittenReport(header, output),
      absl::StrCat("wrote ", output,
                   ": any analyst of this curator can add it with 'dpnmf "
                   "add-release' and fit to it for nothing\n"));
  return kExitOk;
}

absl::StatusOr<ExitCode> Export(const Session& session,
                                const ExportFlags& flags) {
  if (flags.moments == !flags.bundle.empty() ||
      flags.moments != !flags.output.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "Give either `--moments --output FILE.npz` or `--bundle "
                   "FILE`.");
  }
  if (flags.moments && ExtensionOf(flags.output) != ".npz")
    return OutputTypeUnknown(flags.output, ".npz");
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  v1::GetReleaseRequest request;
  DPNMF_ASSIGN_OR_RETURN(*request.mutable_run_id(),
                         ResolveRunId(client, flags.run));
  request.set_matrices(flags.moments);
  return flags.moments ? ExportMoments(session, client, request, flags.output)
                       : ExportBundle(session, client, request, flags.bundle);
}

absl::StatusOr<ExitCode> AddRelease(const Session& session,
                                    const std::string& path) {
  const auto bytes = ReadFile(path, kLargestReleaseFile);
  if (!bytes.ok()) {
    return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                   absl::StrCat("The file ", path, " cannot be read."));
  }
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const v1::Run run,
                         client.AddRelease([&](const auto& take) {
                           return ReadReleaseFile(*bytes, take);
                         }));
  const std::string id = ShortRunId(run.run_id());
  session.Print(
      run, absl::StrCat(run.run_id(), "\n",
                        run.added()
                            ? "The release is verified and added; nothing is "
                              "charged. "
                            : "The run is here already. ",
                        "'dpnmf refit ", id, " --rank K' fits to it.\n"));
  return kExitOk;
}

}  // namespace

Command ExportCommand(const Session* session) {
  const auto flags = std::make_shared<ExportFlags>();
  return {
      .name = "export",
      .summary = "Write the paid release of a run of moments to a file",
      .footer =
          "--moments: the numbers to which W is fitted, for your own "
          "analyses.\n--bundle: the release as the curator signed it, for "
          "other analysts (dpnmf\nadd-release). Both are already released, so "
          "nothing is charged. docs/reference/refit.md\ndescribes both "
          "files.\n\nExamples:\n  dpnmf export 3f9a --moments --output "
          "release.npz\n  dpnmf export 3f9a --bundle visits.release",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--moments", &flags->moments,
                     "Write G, the mean, the rows and their noise"),
                Flag("--output,-o", &flags->output,
                     "File for --moments, .npz; replaced if it exists",
                     {.value = "FILE"}),
                Flag("--bundle", &flags->bundle,
                     "File for the signed release; replaced if it exists",
                     {.value = "FILE"})},
      .run = [session, flags] { return Export(*session, *flags); }};
}

Command AddReleaseCommand(const Session* session) {
  const auto file = std::make_shared<std::string>();
  return {.name = "add-release",
          .summary = "Add a release that another analyst has paid for",
          .footer =
              "The server verifies the curator's signatures and that the "
              "numbers are the signed ones.\nIt lists the release as a "
              "separate run, which is not charged here.\n\nExample:\n  dpnmf "
              "add-release visits.release",
          .flags = {Flag("FILE", file.get(),
                         "File that 'dpnmf export --bundle' wrote",
                         {.required = true})},
          .run = [session, file] { return AddRelease(*session, *file); }};
}

}  // namespace dpnmf::cli
