#include <cstdio>
#include <memory>

#include "common/base/error.h"
#include "common/doctor/doctor_checks.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/serve_flags.h"
#include "curator/maintenance/doctor.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<ExitCode> Examine(const ServeOptions& options,
                                 const std::string& backup, bool quick,
                                 const std::string& format) {
  DPNMF_RETURN_IF_ERROR(CheckAddresses(options));
  CuratorDoctorOptions doctor = DoctorOptionsOf(options);
  doctor.backup = backup;
  doctor.quick = quick;
  const v1::DoctorReport report = ExamineCurator(doctor);
  std::fputs(
      (format == "json" ? ToJson(report) : DoctorReportText(report)).c_str(),
      stdout);
  if (report.ok()) return kExitOk;
  return Refusal(absl::StatusCode::kFailedPrecondition, "check-failed",
                 "A check failed: correct it before you start the curator.");
}

}  // namespace

Command DoctorCommand() {
  const auto options = std::make_shared<ServeOptions>();
  const auto backup = std::make_shared<std::string>();
  const auto quick = std::make_shared<bool>(false);
  const auto format = std::make_shared<std::string>("text");
  Command doctor = {
      .name = "doctor",
      .summary = "Check the checklist for production; takes the flags of serve",
      .footer =
          "The checklist is in docs/reference/operations.md; each finding says "
          "what to do. The\ncommand changes nothing; a server may run at the "
          "same time. The output is for the\noperator. Exit code 7 if a check "
          "failed.",
      .flags = ServeFlags(options.get()),
      .run = [=] { return Examine(*options, *backup, *quick, *format); },
      .also_section = "serve"};
  doctor.flags.push_back(Flag("--backup", backup.get(),
                              "Directory of the last backup",
                              {.value = "DIR"}));
  doctor.flags.push_back(
      Flag("--quick", quick.get(),
           "Do not read what the files of data sets and backups hold, only "
           "their names and lengths"));
  doctor.flags.push_back(Flag("--format", format.get(),
                              "Output format: text or json",
                              {.one_of = "text|json", .shown = true}));
  return doctor;
}

}  // namespace dpnmf::curator
