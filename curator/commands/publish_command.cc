// dpnmf-curator publish: the door through which a table leaves the house.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/log/audit_log.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/ledger/data_paths.h"
#include "curator/publish/publish.h"

namespace dpnmf::curator {
namespace {

struct PublishFlags : DataPaths {
  PublishOptions publish;
  std::string audit_log;
};

// The draft's directory, if no name is given.
std::string NameFrom(const PublishFlags& flags) {
  if (!flags.publish.name.empty()) return flags.publish.name;
  std::string draft = flags.publish.draft;
  while (draft.size() > 1 && draft.back() == '/') draft.pop_back();
  return std::filesystem::path(draft).filename().string();
}

std::string PublishedText(const PublishedTable& published) {
  std::string text = absl::StrCat("published ", published.table, " with ",
                                  published.label, "\n");
  if (published.is_private) {
    absl::StrAppend(&text,
                    "  differentially private: drawn from a release that the "
                    "ledger has charged\n");
    if (published.void_since.has_value()) {
      absl::StrAppend(&text, "  the guarantee of its people is VOID since ",
                      MomentText(*published.void_since),
                      ": the label says so\n");
    }
    return text;
  }
  absl::StrAppend(&text,
                  "  NOT PRIVATE: nothing bounds what it tells about a "
                  "person\n");
  for (const std::string& population : published.voided) {
    absl::StrAppend(&text, "  the guarantee of population ", population,
                    " is void, for ever\n");
  }
  for (const std::string& population : published.accepted) {
    absl::StrAppend(&text,
                    "  recorded: its people are declared to be other people "
                    "than those of population ",
                    population, "\n");
  }
  return text;
}

absl::Status RunPublish(const PublishFlags& flags) {
  PublishOptions options = flags.publish;
  options.data_dir = flags.data_dir;
  options.name = NameFrom(flags);
  DPNMF_ASSIGN_OR_RETURN(options.ledger, LedgerPathsOf(flags));
  std::unique_ptr<AuditLog> audit;
  // The operator's word is written down before it counts.
  if (std::filesystem::is_directory(options.ledger.directory)) {
    DPNMF_ASSIGN_OR_RETURN(
        audit,
        AuditLog::Open(flags.audit_log.empty() ? AuditFile(options.data_dir)
                                               : flags.audit_log));
  }
  const AuditFields fields = {
      {"draft", options.draft},
      {"table", options.name},
      {"approved_by", options.approver},
      {"void_guarantees", absl::StrJoin(options.void_guarantees, ",")},
      {"accept_overlap", absl::StrJoin(options.accept_overlaps, ",")},
      {"by", absl::StrFormat("operator, uid %d", ::getuid())}};
  DPNMF_RETURN_IF_ERROR(WriteAudit(audit.get(), "publication-asked", fields,
                                   AuditSync::kDurable));
  DPNMF_ASSIGN_OR_RETURN(const PublishedTable published, Publish(options));
  DPNMF_RETURN_IF_ERROR(
      WriteAudit(audit.get(), "table-published", fields, AuditSync::kDurable));
  Print(PublishedText(published));
  return absl::OkStatus();
}

}  // namespace

Command PublishCommand() {
  const auto flags = std::make_shared<PublishFlags>();
  flags->publish.output = ".";
  PublishOptions& options = flags->publish;
  return LedgerPathCommand(
      "publish", "Publish a table, with a label that says what it is",
      "A table of dpnmf-lab distort or complete becomes NAME.not-dp.csv with "
      "LABEL.json.\nIt needs the figures of an attack, a person who approves, "
      "and people without a\nguarantee. --void-guarantee gives up a guarantee "
      "for ever: the ledger records this, and\nevery budget shows it from then "
      "on. A table of dpnmf-lab synthesise becomes NAME.csv,\nand its label "
      "states the charge. Stop the server first.\nExample:\n  dpnmf-curator "
      "publish --data-dir /var/lib/dpnmf --draft out/nmf \\\n    --approve "
      "'Ann Operator' --accept-linkage 0.05 --output table",
      flags, RunPublish,
      {NoAnchorFlag(&flags->no_anchor),
       Flag("--draft", &options.draft, "Directory of the draft",
            {.value = "DIR", .required = true}),
       Flag("--output", &options.output,
            "Directory for the table and its label",
            {.value = "DIR", .shown = true}),
       Flag("--name", &options.name,
            "Name of the table: a-z 0-9 . _ - [that of the draft's directory]"),
       Flag("--approve", &options.approver,
            "Name of the person who is responsible for the publication",
            {.value = "NAME"}),
       Flag("--accept-linkage", &options.accepted_linkage,
            "Largest share of people whose rows an attack may find, such as "
            "0.05; ignored for a table drawn from a charged release"),
       Flag("--void-guarantee", &options.void_guarantees,
            "Population whose guarantee is given up for ever, together with "
            "that of its second account in a federation",
            {.value = "POPULATION"}),
       Flag("--accept-overlap", &options.accept_overlaps,
            "Population of other people whose rows coincide by chance; "
            "recorded in the ledger",
            {.value = "POPULATION"}),
       AuditLogFlag(&flags->audit_log)});
}

}  // namespace dpnmf::curator
