#include "client/render/number.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace dpnmf::cli {

std::string FormatExactUp(double value) { return FormatUp(value, 12); }

std::string FormatDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "-";
  if (seconds < 1) return absl::StrFormat("%.2g s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600)
    return absl::StrFormat("%d min %d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatMoment(std::int64_t unix_seconds) {
  if (unix_seconds == 0) return "-";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

}  // namespace dpnmf::cli
