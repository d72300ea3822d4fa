// Numbers, durations and moments as the tables show them.
#ifndef DPNMF_CLIENT_RENDER_NUMBER_H_
#define DPNMF_CLIENT_RENDER_NUMBER_H_

#include <cstdint>
#include <string>

#include "common/base/digits.h"  // FormatNumber, FormatUp, FormatDown

namespace dpnmf::cli {

// Twelve significant digits, never below the value.
std::string FormatExactUp(double value);

// "0.42 s", "8 s", "3 min 20 s", "2 h 5 min". seconds >= 0.
std::string FormatDuration(double seconds);
// "2026-03-01T12:00:00Z", from seconds since 1970; "-" for 0.
std::string FormatMoment(std::int64_t unix_seconds);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_NUMBER_H_
