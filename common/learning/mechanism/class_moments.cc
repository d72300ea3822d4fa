// "class_moments": sums of z z' by class, noised. They are kept as they are;
// common/moments/class_model.h fits people to them.
#include "common/base/error.h"
#include "common/learning/mechanism.h"

namespace dpnmf::analyst {
namespace {

// Kept under "Z" (D + 1 x C (D + 1), sums) and "Z stddev" (1 x 1, of an entry).
absl::Status UpdateFromClasses(const std::vector<NoisedMatrix>& parts,
                               const RoundFacts& facts, LearnerState* state) {
  const Eigen::Index side = state->w.rows() + 1;
  const bool blocks =
      parts.size() == 1 && parts[0].columns > 0 &&
      parts[0].columns % static_cast<std::uint64_t>(side) == 0 &&
      parts[0].columns <= (std::uint64_t{1} << 32);
  DPNMF_ASSIGN_OR_RETURN(
      Eigen::MatrixXd sums,
      MeanOfPart(parts, "Z", side,
                 blocks ? static_cast<Eigen::Index>(parts[0].columns) : side,
                 /*users=*/1));
  const auto noise = facts.noise.find("Z");
  const double of_mean = noise == facts.noise.end() ? 0 : noise->second.stddev;
  state->memory["Z"] = std::move(sums);
  state->memory["Z stddev"] =
      Eigen::MatrixXd::Constant(1, 1, of_mean * facts.users);
  return absl::OkStatus();
}

void OneRoundOfClasses(const DatasetFacts&, RunParameters* parameters) {
  if (parameters->rounds == 0) parameters->rounds = 1;
  if (parameters->rank == 0) parameters->rank = 1;
}

constexpr ReleaseKind kReleases[] = {{.name = "class moments",
                                      .input = SendNothing,
                                      .update = UpdateFromClasses,
                                      .is_answer = true}};

}  // namespace

extern const Mechanism kClassMomentsMechanism = {
    .name = "class_moments",
    .fill_defaults = OneRoundOfClasses,
    .releases = kReleases};

}  // namespace dpnmf::analyst
