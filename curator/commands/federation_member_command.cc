// dpnmf-curator federation-member: this curator's entry for federation.json.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/federation/federation.h"
#include "common/tls/address.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/data/dataset.h"
#include "curator/serve/receipt_signer.h"

namespace dpnmf::curator {
namespace {

struct MemberFlags {
  std::string data_dir, name, dataset, address;
};

absl::Status Malformed(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 "federation-member-malformed", sentence);
}

// An entry that no curator would read is never handed out.
absl::Status CheckFlags(const MemberFlags& flags) {
  if (!IsMemberName(flags.name)) {
    return Malformed(
        "`--name` must be 1 to 64 of a-z, 0-9, ., _ and -, and begin with a "
        "letter or a digit.");
  }
  const bool plain = std::all_of(
      flags.address.begin(), flags.address.end(),
      [](char c) { return '!' <= c && c <= '~' && c != '"' && c != '\\'; });
  if (!plain || !ParseAddress(flags.address).ok()) {
    return Malformed(
        "`--address` must be the HOST:PORT at which the analyst's server "
        "reaches this curator.");
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> PrintMember(const MemberFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckFlags(flags));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                         Dataset::OpenNamed(flags.data_dir, flags.dataset));
  DPNMF_ASSIGN_OR_RETURN(const ReceiptSigner receipts,
                         ReceiptSigner::Open(flags.data_dir, nullptr));
  Print(absl::StrCat("{\"name\": \"", flags.name, "\", \"dataset\": \"",
                     flags.dataset,
                     "\", \"users\": ", dataset->description().users,
                     ", \"receipt_key\": \"", HexOf(receipts.public_key()),
                     "\", \"address\": \"", flags.address, "\"}\n"));
  return kExitOk;
}

}  // namespace

Command FederationMemberCommand() {
  const auto flags = std::make_shared<MemberFlags>();
  return {
      .name = "federation-member",
      .summary = "Print this curator's entry for federation.json",
      .footer =
          "The entry has public facts and the public part of the key that "
          "signs receipts; the\nkey is drawn if there is none yet. Send the "
          "entry to the other curators over a\nchannel that the analyst does "
          "not control (docs/reference/federation.md).\nExample:\n  "
          "dpnmf-curator federation-member --data-dir /var/lib/dpnmf --dataset "
          "patients \\\n "
          "   --name hospital-a --address a.example:7431",
      .flags =
          {Flag("--data-dir", &flags->data_dir,
                "Directory of data sets, ledger and releases",
                {.value = "DIR", .env = true, .required = true}),
           Flag("--dataset", &flags->dataset, "Data set whose people take part",
                {.value = "NAME", .required = true}),
           Flag("--name", &flags->name,
                "Name of this curator in the federation",
                {.value = "NAME", .required = true}),
           Flag("--address", &flags->address,
                "HOST:PORT at which the analyst's server reaches this curator",
                {.value = "HOST:PORT", .required = true})},
      .run = [flags] { return PrintMember(*flags); }};
}

}  // namespace dpnmf::curator
