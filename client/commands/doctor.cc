#include "client/doctor/doctor.h"

#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "common/doctor/doctor_checks.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> Examine(const Session& session,
                                 const std::string& directory) {
  DoctorOptions options;
  options.server = session.options().connection.server;
  options.tls = session.options().connection.tls;
  options.use_proxy = session.options().connection.use_proxy;
  options.data_directory = directory;
  options.version = session.environment().version;
  const v1::DoctorReport report = RunDoctor(options);
  session.Print(report, DoctorReportText(report));
  return report.ok() ? kExitOk : kExitState;
}

}  // namespace

Command DoctorCommand(const Session* session) {
  const auto directory = std::make_shared<std::string>(".");
  return {
      .name = "doctor",
      .summary = "Find out why this client cannot reach its server",
      .footer =
          "Checks the certificate files, names, ports, the handshake, clocks, "
          "versions and\nthe disk, and says for each what to do. Exit code 7 "
          "if "
          "a check failed.\n\nExample:\n"
          "  dpnmf doctor --server analyst.example:7432 --ca ca.crt --cert "
          "client.crt \\\n      --key client.key",
      .flags = {Flag("--directory", directory.get(),
                     "Directory for results; its free space is checked",
                     {.value = "DIR", .shown = true})},
      .run = [session, directory] { return Examine(*session, *directory); }};
}

}  // namespace dpnmf::cli
