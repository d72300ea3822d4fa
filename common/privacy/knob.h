// Knobs of a run: the members of RunParameters that the mechanisms read, each
// declared once, as a row beside the mechanism that brings it
// (Mechanism::knobs). Flags of `dpnmf`, refusals, the hash of a run, the
// conversion to and from its message, the lines of `dpnmf show` and the list of
// the Python package follow from the rows.
#ifndef DPNMF_COMMON_PRIVACY_KNOB_H_
#define DPNMF_COMMON_PRIVACY_KNOB_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/crypto/sha256.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// Its initializer is the default.
using KnobMember =
    std::variant<bool RunParameters::*, std::uint32_t RunParameters::*,
                 double RunParameters::*, std::vector<double> RunParameters::*>;

// The numbers that a knob takes. NaN is outside.
struct KnobRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool open = false;  // without its ends
  // A refusal is "`NAME` must be TEXT.", with the reason code; the server's
  // adds the advice.
  std::string_view text = "";
  std::string_view code = "";
  std::string_view advice = "";
};

// A share of a cost.
inline constexpr KnobRange kShareRange = {.most = 1,
                                          .open = true,
                                          .text = "strictly between 0 and 1",
                                          .code = "share-out-of-range"};

struct KnobFlag {
  const char* name = "";   // "--rank"; "": there is none
  const char* value = "";  // what help calls the value; a bool is on or off
  const char* help = "";
};

struct KnobLine {
  const char* label = "";  // "": there is none
  // If null, the value itself.
  std::string (*text)(const RunParameters& parameters) = nullptr;
};

struct Knob {
  std::string_view name;  // of its field on the wire
  int field = 0;          // number of that field
  KnobMember member;
  // The entries of a list are in the range, and it is not empty.
  KnobRange range = {};
  // Checks instead whether the value is good, if not null.
  bool (*holds)(const RunParameters& parameters) = nullptr;
  // On the wire 0 stands for a default, so nobody may type it.
  bool zero_is_default = true;
  bool fits = false;   // the fit of a person's h to W reads it
  KnobFlag flag = {};  // of `dpnmf plan` and `train`
  KnobLine line = {};  // of `dpnmf show`
};

// 0, off or an empty list: on the wire, what was not set.
bool IsZero(const Knob& knob, const RunParameters& parameters);
void SetZero(const Knob& knob, RunParameters* parameters);
void SetDefault(const Knob& knob, RunParameters* parameters);

// Tells if the value is in the knob's range.
bool Holds(const Knob& knob, const RunParameters& parameters);
// INVALID_ARGUMENT with the knob's code; `name` as the sentence has it.
absl::Status RefuseRange(const Knob& knob, std::string_view name,
                         std::string_view advice = "");
// The first of the knobs that is out of its range is refused.
absl::Status CheckKnobs(std::span<const Knob> knobs,
                        const RunParameters& parameters);

std::string TextOf(const Knob& knob, const RunParameters& parameters);

// Adds knobs to the hash of a run: those that every hash has, which are the
// fields up to 16, and those that came later, of which a run without them
// has the hash that it always had.
void HashFirstKnobs(const std::vector<const Knob*>& knobs,
                    const RunParameters& parameters, Sha256* hash);
void HashLaterKnobs(const std::vector<const Knob*>& knobs,
                    const RunParameters& parameters, Sha256* hash);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_KNOB_H_
