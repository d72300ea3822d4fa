// Draws exactly rounded Gaussian noise for other people's tests:
//
//   draw_noise --stddev S --step-exponent Q --count N
//
// writes N integers k, each as 8 little-endian bytes, to standard output: k 2^Q
// is N(0, S^2) rounded to the nearest multiple of 2^Q. S is a decimal number
// and is taken exactly. The key is fresh from the operating system. Not
// installed.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/cli/program.h"
#include "common/threads/parallel.h"
#include "curator/noise/noise.h"

namespace dpnmf::curator {
namespace {

__extension__ typedef unsigned __int128 Uint128;

// A non-negative rational; both parts stay below 2^100.
class Ratio {
 public:
  // Multiplies by factor, or by 1 / factor; false if a part would grow too
  // large.
  bool Multiply(std::uint64_t factor) {
    return Scale(factor, numerator_, denominator_);
  }
  bool Divide(std::uint64_t factor) {
    return Scale(factor, denominator_, numerator_);
  }
  bool Add(std::uint64_t n) {  // to an integer
    numerator_ += n;
    return denominator_ == 1 && numerator_ < kLimit;
  }
  std::optional<std::uint64_t> numerator() const { return Small(numerator_); }
  std::optional<std::uint64_t> denominator() const {
    return Small(denominator_);
  }

 private:
  static constexpr Uint128 kLimit = Uint128{1} << 100;

  static bool Scale(std::uint64_t factor, Uint128& up, Uint128& down) {
    const std::uint64_t common =
        std::gcd(factor, static_cast<std::uint64_t>(down % factor));
    down /= common;
    up *= factor / common;
    return factor < 1 << 20 && up < kLimit;
  }
  static std::optional<std::uint64_t> Small(Uint128 part) {
    if (part >> 64 != 0) return std::nullopt;
    return static_cast<std::uint64_t>(part);
  }

  Uint128 numerator_ = 0;
  Uint128 denominator_ = 1;
};

// digits [. digits] [e exponent], exactly.
std::optional<Ratio> ParseDecimal(std::string_view text) {
  Ratio ratio;
  int exponent = 0;
  if (const std::size_t e = text.find_first_of("eE");
      e != std::string_view::npos) {
    const std::string_view digits = text.substr(e + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc() || end != digits.data() + digits.size())
      return std::nullopt;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  if (text.size() - (point < text.size() ? 1 : 0) == 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    if (!ratio.Multiply(10) ||
        !ratio.Add(static_cast<std::uint64_t>(text[i] - '0'))) {
      return std::nullopt;
    }
    if (i > point) --exponent;
  }
  for (; exponent > 0; --exponent) {
    if (!ratio.Multiply(10)) return std::nullopt;
  }
  for (; exponent < 0; ++exponent) {
    if (!ratio.Divide(10)) return std::nullopt;
  }
  return ratio;
}

// sigma in steps: S / 2^Q.
std::optional<Ratio> InSteps(std::string_view stddev, int step_exponent) {
  std::optional<Ratio> sigma = ParseDecimal(stddev);
  for (int q = step_exponent; sigma && q != 0; q += q > 0 ? -1 : 1) {
    if (!(q > 0 ? sigma->Divide(2) : sigma->Multiply(2))) return std::nullopt;
  }
  return sigma;
}

bool InRange(std::uint64_t numerator, std::uint64_t denominator) {
  return Uint128{numerator} <= Uint128{denominator} << 50 &&
         Uint128{numerator} << 20 >= denominator;
}

bool WriteNoise(std::uint64_t numerator, std::uint64_t denominator,
                std::uint64_t count) {
  constexpr std::uint64_t kFill =
      1 << 20;  // 2^32 fills: more than anyone waits for
  std::vector<std::int64_t> noise(std::min(count, kFill));
  const NoiseKey key = NoiseKey::Fresh();
  for (std::uint32_t stream = 0; count > 0; ++stream) {
    const std::span<std::int64_t> part(noise.data(), std::min(count, kFill));
    FillGaussian(key, stream, numerator, denominator, DefaultThreads(), part);
    if (std::fwrite(part.data(), 8, part.size(), stdout) != part.size())
      return false;
    count -= part.size();
  }
  return std::fflush(stdout) == 0;
}

struct Flags {
  std::string stddev;
  int step_exponent = 0;
  std::uint64_t count = 0;
};

absl::StatusOr<ExitCode> Draw(const Flags& flags) {
  const std::optional<Ratio> sigma = InSteps(flags.stddev, flags.step_exponent);
  if (!sigma || !sigma->numerator() || !sigma->denominator() ||
      !InRange(*sigma->numerator(), *sigma->denominator())) {
    std::cerr << "`--stddev` over 2^`--step-exponent` must be a decimal number "
                 "between 2^-20 and 2^50 whose lowest terms fit into 64 "
                 "bits.\n";
    return kExitUsage;
  }
  return WriteNoise(*sigma->numerator(), *sigma->denominator(), flags.count)
             ? kExitOk
             : kExitInternal;
}

int Run(int argc, char** argv) {
  Flags flags;
  const Program program = {
      .root = {.name = "draw_noise",
               .summary =
                   "Writes exactly rounded Gaussian noise as little-endian "
                   "int64.",
               .flags = {Flag("--stddev", &flags.stddev,
                              "standard deviation S, a decimal number",
                              {.required = true}),
                         Flag("--step-exponent", &flags.step_exponent,
                              "Q: noise in multiples of 2^Q",
                              {.range = {-200, 200}, .required = true}),
                         Flag("--count", &flags.count, "how many integers",
                              {.required = true})},
               .run = [&flags] { return Draw(flags); }}};
  return Main(program, argc, argv);
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) { return dpnmf::curator::Run(argc, argv); }
