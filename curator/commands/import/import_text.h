// Output of an import: progress and stages on standard error, the report and
// the preview on standard output.
#ifndef DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_TEXT_H_
#define DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_TEXT_H_

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "curator/import/import.h"
#include "curator/ledger/ledger.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::curator {

// How long each stage took: every moment from the beginning on is of one of
// them, so that they add up.
class StageTimes {
 public:
  void Enter(std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    *current_ += std::chrono::duration<double>(now - start_).count();
    start_ = now;
    const auto found =
        std::find_if(stages_.begin(), stages_.end(),
                     [&](const auto& known) { return known.first == stage; });
    if (found != stages_.end()) current_ = &found->second;
  }
  void AddTo(v1::ImportReport* report) {
    Enter("opening");
    double sum = 0;
    for (const auto& [stage, seconds] : stages_) {
      v1::StageTime* const time = report->add_time();
      time->set_stage(std::string(stage));
      time->set_seconds(seconds);
      sum += seconds;
    }
    report->set_seconds(sum);
  }

 private:
  std::array<std::pair<std::string_view, double>, 5> stages_ = {
      {{"reading", 0},
       {"checking", 0},
       {"writing", 0},
       {"ledger", 0},
       {"opening", 0}}};
  double* current_ = &stages_[0].second;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

// Counts the time; on a terminal one line that is rewritten. `*times` outlives
// it.
ImportProgress ShowProgress(StageTimes* times);
void ClearProgress();

void PrintReport(const v1::ImportReport& report,
                 const PopulationPolicy& policy);

// "dpnmf-curator: note: ..." and a refusal while the file is still read.
void PrintNote(const std::string& sentence);
void PrintRefusal(const absl::Status& status);

// How the file was read, and the first people as they would be stored, before
// they are normalised. `title`: "would import visits".
std::string PreviewText(const ImportPreview& preview, std::string_view title);

// The end of the output of a dry run.
std::string_view DryRunText();

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_TEXT_H_
