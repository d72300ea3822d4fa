#include "analyst/server_doctor.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "analyst/client_list.h"
#include "analyst/curator_client.h"
#include "analyst/flag_addresses.h"
#include "common/rpc/machine_checks.h"
#include "common/rpc/receipt.h"

namespace dpnmf::analyst {
namespace {

void CheckClients(const std::string& path, Findings* findings) {
  const absl::StatusOr<ClientList> clients = ClientList::Read(path);
  if (findings->Judge("list of clients", clients.status(),
                      absl::StrCat(path, " can be read."),
                      "Until it is mended everybody is refused."))
    CheckNotWritableByOthers("list of clients mode", path, findings);
}

void CheckReceiptKey(const std::string& path, Findings* findings) {
  constexpr char kRemedy[] =
      "Have the curator's operator hand over receipt.pub by another way than "
      "this connection, and give it with --receipt-key.";
  if (path.empty()) {
    findings->Warn("receipt key",
                   "The key that signs the curator's receipts is recorded at a "
                   "data set's first receipt, whoever sends it.",
                   kRemedy);
    return;
  }
  findings->Judge("receipt key", ReadReceiptKey(path).status(),
                  absl::StrCat(path, " is the key of the curator's receipts."),
                  kRemedy);
}

void CheckCurator(const AnalystDoctorOptions& options, Findings* findings) {
  std::string refusal;
  OnPeerRefused([&](const std::string&, const std::string& sentence) {
    refusal = absl::StrCat(" ", sentence);
  });
  const auto credentials = ChannelTls(options.tls);
  if (!credentials.ok()) {
    findings->Fail("curator", credentials.status().message(),
                   "Mend the files above.");
  } else {
    const auto datasets =
        ConnectCurator(options.curator, *credentials, std::chrono::seconds(5))
            ->ListDatasets();
    findings->Judge(
        "curator",
        datasets.ok()
            ? absl::OkStatus()
            : absl::Status(datasets.status().code(),
                           absl::StrCat(datasets.status().message(), refusal)),
        datasets.ok() ? absl::StrCat(options.curator, " answers and offers ",
                                     datasets->datasets_size(), " data sets.")
                      : "",
        "Check its address, that its certificate is for that name, and that "
        "its allow-list names this server.");
  }
  OnPeerRefused(nullptr);
}

}  // namespace

v1::DoctorReport ExamineAnalyst(const AnalystDoctorOptions& options) {
  RequireTls13();
  v1::DoctorReport report;
  Findings findings(&report);
  CheckUser(&findings);
  const bool good =
      CheckOwnFiles(options.tls, Purpose::kServer, options.now, &findings);
  if (options.client_tls.ca_file != options.tls.ca_file) {
    findings.Judge("files towards clients", CheckTlsFiles(options.client_tls),
                   "They are good.", "Mend what the sentence names.");
  }
  const bool curator_named = findings.Judge(
      "curator address", CheckPeerAddress("--curator", options.curator),
      absl::StrCat(options.curator, " is an address."),
      "Give --curator HOST:PORT.");
  if (!options.listen.empty()) {
    findings.Judge("own address",
                   CheckListenAddress("--listen", options.listen),
                   absl::StrCat(options.listen, " is an address."),
                   "Give --listen HOST:PORT.");
  }
  CheckClients(options.clients, &findings);
  CheckReceiptKey(options.receipt_key, &findings);
  CheckPrivateDirectory("state directory", options.state_dir, &findings);
  CheckAuditLog(options.audit_log, &findings);
  CheckMetricsAddress(options.metrics_listen, &findings);
  CheckDisk("disk of the state", options.state_dir, &findings);
  if (good && curator_named) CheckCurator(options, &findings);
  return report;
}

}  // namespace dpnmf::analyst
