// "class_moments": one round, S = sum of z z' by class, z = (a, k): sizes, sums
// and second moments of the classes in one release.
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

RoundsRange OneRoundOfClasses(const RunParameters&, const DatasetFacts&) {
  return {.least = 1, .most = 1};
}

absl::Status CheckClasses(const RunParameters&, const DatasetFacts& facts) {
  if (!facts.classes.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "classes-none",
                   "`mechanism` class_moments needs a data set with classes, "
                   "and this one has none: choose another.");
  }
  if (ClassEntriesOf(facts) <= kMostClassEntries) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "classes-too-large",
                 absl::StrCat("The release of class_moments would have more "
                              "than ",
                              kMostClassEntries,
                              " entries (classes times the square of the "
                              "features plus 1): choose another `mechanism`, "
                              "or import fewer features."));
}

// All blocks stand side by side, both triangles of each: (D + 1) x C (D + 1).
// A person's share has the length |z|^2 <= Q_z (docs/reference/privacy.md,
// theorem 4c).
std::vector<StageDraft> Stages(MuSquared whole, int bits, const RunParameters&,
                               const DatasetFacts& facts) {
  const std::uint64_t norm = ClassBoundsOf(facts, bits).whole;
  const std::uint64_t side = facts.features + 1;
  const PartPlan blocks{.name = "Z",
                        .rows = side,
                        .columns = side * facts.classes->names.size(),
                        .step_exponent = -2 * bits,
                        .left_norm_steps = norm,
                        .right_norm_steps = norm};
  return {{.release = "class moments",
           .rounds = 1,
           .parts = {{blocks, whole, norm}}}};
}

bool Uses(std::string_view, const RunParameters&, const DatasetFacts&) {
  return false;
}

}  // namespace

extern const Mechanism kClassMomentsMechanism = {
    .name = "class_moments",
    .summary = "sizes, means and second moments of classes",
    .learns_dictionary = false,
    .draws_people = true,
    .for_classes = true,
    .rounds = OneRoundOfClasses,
    .check = CheckClasses,
    .stages = Stages,
    .uses = Uses,
};

}  // namespace dpnmf
