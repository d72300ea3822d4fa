#include "lab/ratings/private_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/ratings_bounds.h"
#include "common/ratings/learner.h"
#include "common/ratings/person.h"
#include "curator/factor/ratings_sums.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {
namespace {

using Sums = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

struct Group {
  std::unique_ptr<Dataset> data;
  double weight = 1;
};

// The sums of every part of a release, in the order of the plan's parts.
absl::StatusOr<std::vector<Sums>> SumsOf(const Dataset& data,
                                         const StagePlan& stage,
                                         const RoundInput& input,
                                         const RunParameters& run,
                                         const Execution& execution) {
  const RatingsRequest request = {
      .model = &input.w,
      .residual_stddev = input.numbers.empty() ? 1 : input.numbers[0]};
  const int exponent = -stage.parts[0].step_exponent;
  std::vector<Sums> parts;
  if (stage.release == "items") {
    DPNMF_ASSIGN_OR_RETURN(
        ItemSums sums,
        ComputeItemSums(data, run.adjacency,
                        ItemsLatticeOf(*data.description().ratings, exponent),
                        execution));
    parts.push_back(std::move(sums.own_means));
    parts.push_back(std::move(sums.items));
  } else if (stage.release == "co-ratings") {
    DPNMF_ASSIGN_OR_RETURN(parts.emplace_back(),
                           ComputeCoRatings(data, input.rows, DampingOf(input),
                                            exponent / 2, execution));
  } else if (stage.release == "profiles") {
    DPNMF_ASSIGN_OR_RETURN(parts.emplace_back(),
                           ComputeProfileMoments(data, request, run.rank,
                                                 exponent / 2, execution));
  } else if (stage.release == "residuals") {
    DPNMF_ASSIGN_OR_RETURN(parts.emplace_back(),
                           ComputeResidualMoments(data, request, input.rows,
                                                  exponent / 2, execution));
  } else {
    const int profile_bits = -stage.parts[1].step_exponent / 2;
    // A request may be narrower than planned: no more than it has loadings
    // after the bias.
    const std::uint32_t directions = std::min(
        run.profile_directions, static_cast<std::uint32_t>(input.w.cols()) - 2);
    DPNMF_ASSIGN_OR_RETURN(
        CorrectionSums sums,
        ComputeCorrections(data, request, directions, exponent - profile_bits,
                           profile_bits, execution));
    parts.push_back(std::move(sums.b));
    parts.push_back(std::move(sums.a));
  }
  return parts;
}

// The release's sums over all groups, each times its weight.
absl::StatusOr<std::vector<std::vector<double>>> WeightedSums(
    const std::vector<Group>& groups, const StagePlan& stage,
    const RoundInput& input, const RunParameters& run,
    const Execution& execution) {
  std::vector<std::vector<double>> total;
  for (const Group& group : groups) {
    DPNMF_ASSIGN_OR_RETURN(const std::vector<Sums> parts,
                           SumsOf(*group.data, stage, input, run, execution));
    total.resize(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      total[p].resize(parts[p].size());
      for (std::size_t i = 0; i < parts[p].size(); ++i)
        total[p][i] += group.weight * static_cast<double>(parts[p][i]);
    }
  }
  return total;
}

// Rows of a symmetric part of so many entries.
std::uint64_t RowsOfTriangle(std::size_t entries) {
  return static_cast<std::uint64_t>(
      (std::sqrt(8.0 * static_cast<double>(entries) + 1) - 1) / 2 + 0.5);
}

std::uint64_t PeopleOf(std::span<const WeightedPeople> groups,
                       const PrivateRunOptions& options) {
  double people = 0;
  bool weighted = false;
  for (const WeightedPeople& group : groups) {
    people += group.weight * static_cast<double>(group.ratings->people());
    weighted = weighted || group.weight != 1;
  }
  return weighted ? std::max<std::uint64_t>(
                        1, static_cast<std::uint64_t>(std::lround(people)))
                  : options.users;
}

RunParameters ParametersOf(const PrivateRunOptions& options) {
  RunParameters run;
  run.mechanism = kRatingsMechanism.name;
  run.rank = options.rank;
  run.rounds = options.rounds;
  run.epsilon = options.epsilon;
  run.delta = options.delta;
  run.conversion = options.conversion;
  run.adjacency = options.adjacency;
  run.moment_rows = options.moment_rows;
  run.profile_directions = options.profile_directions;
  run.shares = options.shares;
  return run;
}

absl::StatusOr<RatingsFacts> FactsFor(const DatasetDescription& description,
                                      const Eigen::MatrixXd& item_features,
                                      const PrivateRunOptions& options,
                                      const Execution& execution) {
  RatingsFacts facts;
  facts.dataset = FactsOf(description);
  facts.dataset.conversion = options.conversion;
  facts.item_features = item_features;
  facts.non_negative = options.non_negative;
  facts.stopped = execution.stop;
  facts.parameters = ParametersOf(options);
  FillRatingsDefaults(facts.dataset, &facts.parameters);
  DPNMF_ASSIGN_OR_RETURN(facts.plan, PlanRun(facts.parameters, facts.dataset));
  return facts;
}

}  // namespace

absl::Status CheckPrivateRun(const RatingTable& ratings,
                             const PrivateRunOptions& options) {
  return FactsFor(DescriptionOf(ratings, options.adjacency, options.users), {},
                  options, {})
      .status();
}

NoisedMatrix Noised(const PartPlan& part, const std::vector<double>& sums,
                    SeededNoise* noise) {
  NoisedMatrix matrix;
  matrix.name = part.name;
  matrix.symmetric = part.symmetric;
  matrix.step_exponent = part.step_exponent;
  matrix.rows = part.symmetric ? RowsOfTriangle(sums.size()) : part.rows;
  matrix.columns = part.symmetric ? matrix.rows : sums.size() / part.rows;
  matrix.lattice.reserve(sums.size());
  std::size_t next_diagonal = 0, column = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool diagonal = part.symmetric && i == next_diagonal;
    if (diagonal) next_diagonal += ++column + 1;  // 0, 2, 5, 9 ...
    const auto stddev = static_cast<double>(
        diagonal ? part.diagonal_stddev_steps : part.stddev_steps);
    matrix.lattice.push_back(
        static_cast<std::int64_t>(std::nearbyint(sums[i])) +
        static_cast<std::int64_t>(std::nearbyint(stddev * noise->Normal())));
  }
  return matrix;
}

absl::StatusOr<PrivateRun> RunPrivately(std::span<const WeightedPeople> groups,
                                        const Eigen::MatrixXd& item_features,
                                        const PrivateRunOptions& options,
                                        const Execution& execution) {
  const Clock::time_point begin = Clock::now();
  const std::uint64_t people = PeopleOf(groups, options);
  std::vector<Group> data;
  for (const WeightedPeople& group : groups) {
    DPNMF_ASSIGN_OR_RETURN(
        std::unique_ptr<Dataset> dataset,
        ToDataset(*group.ratings, options.adjacency,
                  groups.size() == 1 ? people : group.ratings->people()));
    data.push_back({std::move(dataset), group.weight});
  }
  DatasetDescription description = data[0].data->description();
  description.users = people;
  DPNMF_ASSIGN_OR_RETURN(
      const RatingsFacts facts,
      FactsFor(description, item_features, options, execution));
  SeededNoise noise(
      SeedFor(options.seed, absl::StrFormat("ratings %.17g", options.epsilon)));
  RatingsMemory memory;
  for (std::uint32_t round = 1; round <= facts.parameters.rounds; ++round) {
    DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
    const StagePlan& stage = facts.plan.StageOf(round);
    DPNMF_ASSIGN_OR_RETURN(const RoundInput input,
                           RatingsInput(round, facts, memory));
    DPNMF_ASSIGN_OR_RETURN(
        const std::vector<std::vector<double>> sums,
        WeightedSums(data, stage, input, facts.parameters, execution));
    std::vector<NoisedMatrix> released;
    for (std::size_t p = 0; p < sums.size(); ++p)
      released.push_back(Noised(stage.parts[p], sums[p], &noise));
    DPNMF_RETURN_IF_ERROR(RatingsUpdate(round, facts, released, &memory));
  }
  PrivateRun run;
  DPNMF_ASSIGN_OR_RETURN(run.model, RatingsModel(facts, memory));
  run.parameters = facts.parameters;
  run.plan = facts.plan;
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return run;
}

Recommender RecommenderOf(ItemModel model) {
  const auto kept = std::make_shared<const ItemModel>(std::move(model));
  const auto basis =
      std::make_shared<const RankingBasis>(RankingBasisOf(*kept));
  return [kept, basis](std::size_t, RatedItems own) {
    std::vector<double> ratings(own.units.size());
    std::transform(own.units.begin(), own.units.end(), ratings.begin(),
                   RatingOf);
    const Profile profile = SolveProfile(*kept, *basis, own.items, ratings);
    Opinion opinion;
    opinion.ratings = kept->base + kept->loadings * profile.mean;
    opinion.scores = RankingScores(*kept, *basis, profile, own.items, ratings);
    return opinion;
  };
}

}  // namespace dpnmf::curator::lab
