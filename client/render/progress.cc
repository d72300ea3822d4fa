#include "client/render/progress.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/render/names.h"
#include "client/render/number.h"
#include "client/render/position_text.h"
#include "common/wire/json.h"
#include "common/wire/run_state.h"

namespace dpnmf::cli {
namespace {

constexpr std::size_t kRoundsAveraged = 8;
constexpr int kLargestBar = 40;
constexpr int kSmallestBar = 8;

std::string Bar(const v1::RunEvent& event, int width) {
  const double share =
      event.rounds() > 0
          ? std::min(1.0, static_cast<double>(event.round()) / event.rounds())
          : 0.0;
  const auto filled = static_cast<std::size_t>(std::floor(share * width));
  return absl::StrCat(
      "[", std::string(filled, '#'),
      std::string(static_cast<std::size_t>(width) - filled, '.'), "]");
}

std::string EpsilonText(const v1::RunEvent& event, v1::Conversion conversion) {
  return absl::StrCat("epsilon spent ",
                      FormatUp(EnforcedEpsilon(event.spent(), conversion)));
}

// Known from the first answer of the curator on.
std::string LargestRunNote(const v1::RunEvent& event,
                           v1::Conversion conversion) {
  if (!event.has_position()) return "";
  return absl::StrCat(
      ", largest run ",
      LargestRunText(event.position(), conversion, event.spent().delta()));
}

}  // namespace

std::string ProgressBar(const v1::RunEvent& event, v1::Conversion conversion,
                        double seconds_left, int width) {
  const std::string head = absl::StrCat(
      NameOf(event.state()), " ", event.round(), "/", event.rounds(), " ");
  std::string tail = absl::StrCat(" ", EpsilonText(event, conversion));
  if (seconds_left >= 0)
    absl::StrAppend(&tail, "  ", FormatDuration(seconds_left), " left");
  // Two places for the brackets.
  const int room = width - static_cast<int>(head.size() + tail.size()) - 2;
  std::string line = head;
  if (room >= kSmallestBar)
    absl::StrAppend(&line, Bar(event, std::min(room, kLargestBar)));
  absl::StrAppend(&line, tail);
  line.resize(
      std::min(line.size(), static_cast<std::size_t>(std::max(width, 1))));
  return line;
}

std::string ProgressLine(const v1::RunEvent& event, v1::Conversion conversion) {
  std::string line = absl::StrCat(
      "round ", event.round(), "/", event.rounds(), "  ", NameOf(event.state()),
      "  ", EpsilonText(event, conversion), LargestRunNote(event, conversion));
  // A round of a mean or an objective leaves W as it is.
  if (event.relative_change() > 0)
    absl::StrAppend(&line, "  change ", FormatNumber(event.relative_change()));
  if (event.round_seconds() > 0)
    absl::StrAppend(&line, "  ", FormatDuration(event.round_seconds()));
  if (!event.message().empty()) absl::StrAppend(&line, "  ", event.message());
  return line;
}

double ProgressPrinter::SecondsLeft(const v1::RunEvent& event) {
  if (event.round_seconds() > 0) {
    round_seconds_.push_back(event.round_seconds());
    if (round_seconds_.size() > kRoundsAveraged) round_seconds_.pop_front();
  }
  if (round_seconds_.empty() || IsFinal(event.state())) return -1;
  const double total =
      std::accumulate(round_seconds_.begin(), round_seconds_.end(), 0.0);
  const double rounds_left =
      event.rounds() - std::min(event.round(), event.rounds());
  return total / static_cast<double>(round_seconds_.size()) * rounds_left;
}

void ProgressPrinter::Show(const v1::RunEvent& event) {
  switch (style_) {
    case ProgressStyle::kJson:
      *out_ << ToJsonLine(event) << '\n' << std::flush;
      return;
    case ProgressStyle::kLines:
      *out_ << ProgressLine(event, conversion_) << '\n' << std::flush;
      return;
    case ProgressStyle::kBar:
      const double seconds_left = SecondsLeft(event);
      if (!event.message().empty()) Note(event.message());
      // Back to the first column, and clear to the end of the line after.
      *out_ << '\r' << ProgressBar(event, conversion_, seconds_left, width_ - 1)
            << "\x1b[K" << std::flush;
      line_open_ = true;
      return;
  }
}

void ProgressPrinter::ShowLearning(double share) {
  if (style_ != ProgressStyle::kBar) return;
  *out_ << "\rfitting " << static_cast<int>(100 * share) << " %\x1b[K"
        << std::flush;
  line_open_ = true;
}

void ProgressPrinter::Note(std::string_view sentence) {
  if (style_ == ProgressStyle::kJson) return;
  if (line_open_) *out_ << "\r\x1b[K";
  line_open_ = false;
  *out_ << sentence << '\n' << std::flush;
}

void ProgressPrinter::EndLine() {
  if (line_open_) *out_ << '\n' << std::flush;
  line_open_ = false;
}

}  // namespace dpnmf::cli
