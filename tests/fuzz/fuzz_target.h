// Interface of a fuzz target, and the bytes that it reads.
//
// A target is one *_fuzz.cc, in a namespace of its own. All targets are in
// fuzz_replay, which runs them as ctest tests under any compiler; with
// -DDPNMF_BUILD_FUZZERS=ON (clang) each is also a libFuzzer program. No input
// may crash a target or change the result of another input.
#ifndef DPNMF_TESTS_FUZZ_FUZZ_TARGET_H_
#define DPNMF_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace dpnmf::fuzz {

struct FuzzTarget {
  std::string_view name;
  // Mutations of its seeds that a replay makes, unless its command line says
  // otherwise.
  std::uint64_t runs;
  // Returns, or dies through Demand.
  void (*run_one)(const std::uint8_t* data, std::size_t size);
  // Inputs to begin with, the same at every call.
  std::vector<std::string> (*seeds)();
  // Outcomes that a replay of `runs` must have come to, each at least once: a
  // target that refuses everything, or nothing, tests nothing.
  std::vector<std::string> (*expected_outcomes)();
};

// Each target's file calls it once, before main. Returns true.
bool Register(const FuzzTarget& target);
// Those that are linked into this program.
const std::vector<FuzzTarget>& Targets();
// The directory of a target's kept inputs.
std::string CorpusOf(const FuzzTarget& target);
// The contents of the files in a folder of the source tree, in the order of
// their names.
std::vector<std::string> FilesOf(std::string_view folder);

// Prints `what` and aborts unless `holds`.
void Demand(bool holds, std::string_view what);

// Checks the parts of a refusal: a kind, a code that docs/reference/errors.md
// lists, and one line of printable text of at most 2,000 bytes. Returns the
// problem; "" if there is none.
std::string ProblemOf(const absl::Status& refusal);
// Demands the same.
void DemandRefusal(const absl::Status& refusal);

// Counts how often a target came to each outcome; the replay prints them.
void Count(std::string_view outcome);

// Special doubles: zeros of both signs, NaN, infinities, denormals, the ends of
// the range, and neighbours of 1 and 2.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kSpecialDoubles[] = {
    0.0,
    -0.0,
    std::numeric_limits<double>::quiet_NaN(),
    kInfinity,
    -kInfinity,
    std::numeric_limits<double>::denorm_min(),
    -std::numeric_limits<double>::denorm_min(),
    std::numeric_limits<double>::min(),
    std::numeric_limits<double>::max(),
    -std::numeric_limits<double>::max(),
    1e300,
    1e155,
    1e-155,
    1e-300,
    1e-20,
    -1e-20,
    -1.0,
    0.5,
    1.0,
    1 - 0x1p-53,
    1 + 0x1p-52,
    2.0,
    2 + 0x1p-51,
    1e6,
    1e6 + 1,
};

// Reads an input from front to back; zeros when it is used up.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  bool Bit() { return (Byte() & 1) != 0; }
  // In [0, limit), limit >= 1.
  std::uint32_t Below(std::uint32_t limit) {
    return (limit <= 256 ? Byte() : Word() & 0xffffff) % limit;
  }
  std::uint32_t Word() {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word |= std::uint32_t{Byte()} << (8 * i);
    return word;
  }
  std::uint64_t LongWord() {
    const std::uint64_t low = Word();
    return low | std::uint64_t{Word()} << 32;
  }
  // A special one, a small fraction, or any bits.
  double Double();
  // Up to `count` bytes.
  std::string_view Bytes(std::size_t count) {
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  std::string_view Rest() { return Bytes(rest_.size()); }
  bool empty() const { return rest_.empty(); }
  std::size_t size() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_FUZZ_TARGET_H_
