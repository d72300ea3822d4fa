#include "analyst/serve/server_doctor.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "analyst/curators/curator_client.h"
#include "common/access/allow_list.h"
#include "common/doctor/doctor_checks.h"
#include "common/federation/federation.h"
#include "common/tls/flag_addresses.h"
#include "common/wire/receipt.h"

namespace dpnmf::analyst {
namespace {

using absl::StrCat;

Finding ReceiptKey(const std::string& path) {
  constexpr char kRemedy[] =
      "Get receipt.pub from the curator's operator over another channel than "
      "this connection, and give it with --receipt-key.";
  if (path.empty()) {
    return Doubtful(
        "The key that signs the curator's receipts is taken from a data set's "
        "first receipt, whoever sends it.",
        kRemedy);
  }
  return Judged(ReadReceiptKey(path).status(),
                path + " is the key of the curator's receipts.", kRemedy);
}

Finding AnswerOf(const std::string& curator,
                 const AnalystDoctorOptions& options) {
  const auto credentials = ChannelTls(options.tls);
  if (!credentials.ok())
    return Bad(credentials.status().message(), "Correct the files above.");
  std::string refusal;  // of the curator's certificate
  OnPeerRefused([&](const std::string&, const std::string& sentence) {
    refusal = sentence;
  });
  const auto connection = ConnectCurator(
      curator, *credentials, options.use_proxy, std::chrono::seconds(5));
  if (!connection.ok()) return Judged(connection.status(), "");
  const auto datasets = (*connection)->ListDatasets();
  OnPeerRefused(nullptr);
  if (datasets.ok()) {
    return Good(
        StrCat(curator, " answers and offers ", datasets->datasets_size(),
               datasets->datasets_size() == 1 ? " data set." : " data sets."));
  }
  return Bad(
      refusal.empty() ? std::string(datasets.status().message()) : refusal,
      "Check its address, that its certificate is for that name, and "
      "that its allow-list names this server.");
}

// The file, and an answer of each of its curators.
void AddFederation(const AnalystDoctorOptions& options, bool files_are_good,
                   CheckList* checks) {
  const auto federation = ReadFederation(options.federation);
  const bool readable =
      checks->Add("federation", Judged(federation.status(),
                                       options.federation + " can be read.",
                                       "Get the file that all curators have."));
  if (!readable || !files_are_good) return;
  for (const FederationMember& member : federation->members) {
    checks->Add("curator " + member.name, AnswerOf(member.address, options));
  }
}

}  // namespace

v1::DoctorReport ExamineAnalyst(const AnalystDoctorOptions& options) {
  RequireTls13();
  CheckList checks;
  checks.Add("user", NotRoot());
  const bool good =
      AddTlsFiles(options.tls, Purpose::kServer, options.now, &checks);
  if (options.client_tls.ca_file != options.tls.ca_file) {
    checks.Add(
        "files towards clients",
        Judged(CheckTlsFiles(options.client_tls), "The files are valid."));
  }
  const bool curator_named =
      (!options.curator.empty() || options.federation.empty()) &&
      checks.Add("curator address",
                 Judged(CheckPeerAddress("--curator", options.curator),
                        options.curator + " is an address."));
  if (!options.federation.empty()) AddFederation(options, good, &checks);
  if (!options.listen.empty()) {
    checks.Add("own address",
               Judged(CheckListenAddress("--listen", options.listen),
                      options.listen + " is an address."));
  }
  if (checks.Add(
          "list of clients",
          Judged(
              ReadAllowList(options.clients, kAnalystAllowList).status(),
              options.clients + " can be read.",
              "Access is denied to everyone until the file is corrected."))) {
    checks.Add("list of clients mode", NotWritableByOthers(options.clients));
  }
  checks.Add("receipt key", ReceiptKey(options.receipt_key));
  checks.Add("state directory", PrivateDirectory(options.state_dir));
  checks.Add("audit log", AuditLogFile(options.audit_log));
  checks.Add("metrics", MetricsAddress(options.metrics_listen));
  checks.Add("disk of the state", FreeSpace(options.state_dir));
  if (good && curator_named)
    checks.Add("curator", AnswerOf(options.curator, options));
  return checks.report();
}

}  // namespace dpnmf::analyst
