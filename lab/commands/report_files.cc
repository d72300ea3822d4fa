#include "lab/commands/report_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator::lab {
namespace {

constexpr const char* kReportFiles[] = {"results.json", "report.html",
                                        "results.csv", "curves.csv"};

}  // namespace

absl::Status CheckNoReport(const std::string& directory, bool force) {
  if (force) return absl::OkStatus();
  for (const char* name : kReportFiles) {
    const auto path = std::filesystem::path(directory) / name;
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, error)))
      continue;
    return Refusal(
        absl::StatusCode::kAlreadyExists, "report-exists",
        absl::StrCat("There is a report already: ", path.string(),
                     "; choose another --output, or give --force to replace "
                     "its files."));
  }
  return absl::OkStatus();
}

Flag ForceFlag(bool* force) {
  return Flag("--force", force,
              "Replace the files of a report that --output has already");
}

}  // namespace dpnmf::curator::lab
