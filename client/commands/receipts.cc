#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/flags/run_flags.h"
#include "client/render/names.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/read_file.h"
#include "common/wire/receipt.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct ReceiptFlags {
  std::string dataset, run, output;
  std::string file, key;
};

absl::StatusOr<std::string> ReadText(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kListFileLimit);
  if (text.ok()) return text;
  return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                 absl::StrCat("The file ", path, " cannot be read."));
}

v1::ReceiptsReport ReportOf(const std::vector<v1::Receipt>& receipts) {
  v1::ReceiptsReport report;
  report.set_receipts(receipts.size());
  for (const v1::Receipt& receipt : receipts) {
    report.set_last_row(std::max(report.last_row(), receipt.sequence()));
    if (!receipt.has_void_since()) continue;
    report.set_void_guarantees(report.void_guarantees() + 1);
    report.set_void_since(
        report.has_void_since()
            ? std::min(report.void_since(), receipt.void_since())
            : receipt.void_since());
  }
  return report;
}

// Returns no text if all guarantees held.
std::string VoidReceiptsText(const v1::ReceiptsReport& report) {
  if (report.void_guarantees() == 0) return "";
  return absl::StrCat(report.void_guarantees(),
                      " of them are of a population whose guarantee is ",
                      VoidText(report.void_since()), "\n");
}

// The server then has the curator's mark on the receipts of void guarantees.
// Receipts are written without it too: they say what they said when they came.
void AskForMarks(const AnalystClient& client) {
  const auto datasets = client.ListDatasets();
  if (!datasets.ok()) return;
  for (const v1::Dataset& dataset : datasets->datasets())
    if (dataset.guarantee().has_void_since())
      (void)client.GetBudget(dataset.name());
}

absl::StatusOr<ExitCode> Export(const Session& session,
                                const ReceiptFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  AskForMarks(client);
  DPNMF_ASSIGN_OR_RETURN(std::vector<v1::Receipt> receipts,
                         client.GetReceipts(flags.dataset));
  if (!flags.run.empty()) {
    DPNMF_ASSIGN_OR_RETURN(const std::string run_id,
                           ResolveRunId(client, flags.run));
    std::erase_if(receipts, [&](const v1::Receipt& receipt) {
      return receipt.run_id() != run_id;
    });
  }
  // A name with a slip in it has no receipts either.
  if (receipts.empty() && !flags.dataset.empty() && flags.run.empty())
    DPNMF_RETURN_IF_ERROR(FindDataset(client, flags.dataset).status());
  std::string text;
  for (const v1::Receipt& receipt : receipts) text += LineOf(receipt);
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.output, text));
  const v1::ReceiptsReport report = ReportOf(receipts);
  session.Print(
      report,
      absl::StrCat("wrote ", receipts.size(),
                   receipts.size() == 1 ? " receipt" : " receipts", " to ",
                   flags.output, "; 'dpnmf receipts verify' checks them\n",
                   VoidReceiptsText(report)));
  return kExitOk;
}

// Every signature, by the key that the operator handed out.
absl::StatusOr<ExitCode> Verify(const Session& session,
                                const ReceiptFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const PublicKey key, ReadReceiptKey(flags.key));
  DPNMF_ASSIGN_OR_RETURN(const std::string text, ReadText(flags.file));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<v1::Receipt> receipts,
                         ParseReceipts(text));
  if (receipts.empty()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "receipts-empty",
        absl::StrCat("The file ", flags.file,
                     " contains no receipt, so nothing was verified."));
  }
  for (const v1::Receipt& receipt : receipts) {
    DPNMF_RETURN_IF_ERROR(CheckReceipt(receipt));
    if (KeyOf(receipt) == key) continue;
    return Refusal(absl::StatusCode::kFailedPrecondition, "receipt-key-differs",
                   absl::StrCat("The receipt for row ", receipt.sequence(),
                                " is signed with another key than ", flags.key,
                                "; ask the curator's operator."));
  }
  v1::ReceiptsReport report = ReportOf(receipts);
  report.set_ok(true);
  report.set_public_key(HexOf(key));
  session.Print(
      report,
      absl::StrCat(receipts.size() == 1
                       ? std::string("the receipt is")
                       : absl::StrCat("all ", receipts.size(), " receipts are"),
                   " signed by the curator's key ", HexOf(key), "\n",
                   VoidReceiptsText(report)));
  return kExitOk;
}

}  // namespace

Command ReceiptsCommand(const Session* session) {
  const auto flags = std::make_shared<ReceiptFlags>();
  const Command written = {
      .name = "export",
      .summary = "Write the receipts that the analyst holds to a file",
      .footer =
          "Keep the file away from both servers. The curator's operator "
          "compares it with\nthe ledger: dpnmf-curator ledger verify "
          "--receipts FILE. A ledger that was rolled\nback lacks the rows of "
          "some receipts.\n\nExample:\n  dpnmf receipts export --output "
          "receipts.jsonl",
      .flags = {Flag("--dataset", &flags->dataset,
                     "Only receipts of this data set [all]", {.value = "NAME"}),
                Flag("--run", &flags->run,
                     "Only receipts of this run, by the first digits of its id "
                     "[all]",
                     {.value = "RUN"}),
                Flag("--output", &flags->output,
                     "File to write, one receipt on each line",
                     {.value = "FILE", .required = true})},
      .run = [session, flags] { return Export(*session, *flags); }};
  const Command verified = {
      .name = "verify",
      .summary = "Check the signatures in a file; needs no server",
      .footer =
          "Example:\n  dpnmf receipts verify receipts.jsonl --key receipt.pub",
      .flags = {Flag("FILE", &flags->file, "File of receipts",
                     {.required = true}),
                Flag(
                    "--key", &flags->key,
                    "The curator's public key (receipt.pub), from its operator",
                    {.value = "FILE", .required = true})},
      .run = [session, flags] { return Verify(*session, *flags); }};
  return {
      .name = "receipts",
      .summary = "Export and check the curator's signed receipts for charges",
      .commands = {written, verified}};
}

}  // namespace dpnmf::cli
