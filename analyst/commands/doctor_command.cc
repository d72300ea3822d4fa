#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "analyst/commands/commands.h"
#include "analyst/commands/serve_flags.h"
#include "analyst/serve/server_doctor.h"
#include "common/doctor/doctor_checks.h"
#include "common/server/server_log.h"
#include "common/wire/json.h"

namespace dpnmf::analyst {
namespace {

ExitCode Examine(const ServeFlags& flags, const std::string& format) {
  AnalystDoctorOptions doctor;
  doctor.state_dir = flags.state_dir;
  doctor.curator = flags.curator;
  doctor.federation = flags.federation;
  doctor.use_proxy = flags.use_proxy;
  doctor.listen = flags.listen;
  doctor.tls = doctor.client_tls = flags.tls;
  if (!flags.client_ca.empty()) doctor.client_tls.ca_file = flags.client_ca;
  doctor.clients = flags.clients;
  doctor.receipt_key = flags.receipt_key;
  doctor.audit_log = AuditFileOf(flags);
  doctor.metrics_listen = flags.metrics_listen;
  doctor.now = std::time(nullptr);
  const v1::DoctorReport report = ExamineAnalyst(doctor);
  std::fputs(
      (format == "json" ? ToJson(report) : DoctorReportText(report)).c_str(),
      stdout);
  return report.ok() ? kExitOk : kExitState;
}

}  // namespace

Command DoctorCommand() {
  const auto flags = std::make_shared<ServeFlags>();
  const auto format = std::make_shared<std::string>("text");
  Command doctor = {
      .name = "doctor",
      .summary =
          "Go through the checklist for production "
          "(docs/reference/operations.md); takes the flags of serve. Exit code "
          "7 if a check failed",
      .flags = FlagsOf(flags.get()),
      .run = [flags, format]() -> absl::StatusOr<ExitCode> {
        SetUpLog("dpnmf-analyst", "off", LogFormat::kText);
        return Examine(*flags, *format);
      },
      .also_section = "serve"};
  doctor.flags.push_back(Flag("--format", format.get(),
                              "Output format: text or json",
                              {.one_of = "text|json", .shown = true}));
  return doctor;
}

}  // namespace dpnmf::analyst
