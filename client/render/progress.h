// The events of a run as a bar on a terminal, as lines, or as JSON.
#ifndef DPNMF_CLIENT_RENDER_PROGRESS_H_
#define DPNMF_CLIENT_RENDER_PROGRESS_H_

#include <deque>
#include <ostream>
#include <string>
#include <string_view>

#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// One line, at most `width` characters, without a line break. `conversion` is
// the enforced one; seconds_left < 0 leaves the time out.
std::string ProgressBar(const v1::RunEvent& event, v1::Conversion conversion,
                        double seconds_left, int width);

// One line, without a line break: what the run has spent, a reading, and what a
// run may still ask for.
std::string ProgressLine(const v1::RunEvent& event, v1::Conversion conversion);

enum class ProgressStyle { kBar, kLines, kJson };

// Prints events in their order. Not thread-safe.
class ProgressPrinter {
 public:
  // `out` outlives the printer. `width` is the terminal's, for kBar.
  ProgressPrinter(std::ostream* out, ProgressStyle style, int width,
                  v1::Conversion conversion)
      : out_(out), style_(style), width_(width), conversion_(conversion) {}

  void Show(const v1::RunEvent& event);
  // On a terminal alone, in the place of the bar: how far a fit is, in [0, 1).
  void ShowLearning(double share);
  // A sentence between the events; nothing under kJson.
  void Note(std::string_view sentence);
  // Ends the bar's line. Further calls do nothing until the next Show.
  void EndLine();

 private:
  double SecondsLeft(const v1::RunEvent& event);

  std::ostream* out_;
  ProgressStyle style_;
  int width_;
  v1::Conversion conversion_;
  bool line_open_ = false;
  std::deque<double> round_seconds_;  // of the last rounds, newest last
};

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_PROGRESS_H_
