#include "lab/ratings/private_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/ratings/learner.h"
#include "common/ratings/person.h"
#include "lab/evaluate/product_run.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {
namespace {

using Clock = std::chrono::steady_clock;

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

DatasetFacts FactsFor(const DatasetDescription& description,
                      const PrivateRunOptions& options) {
  DatasetFacts facts = FactsOf(description);
  facts.conversion = options.conversion;
  return facts;
}

absl::StatusOr<ProductRun> PlanFor(const DatasetDescription& description,
                                   const PrivateRunOptions& options,
                                   const Execution& execution) {
  return ProductRun::Create(ParametersOf(options),
                            FactsFor(description, options),
                            v1::LearnerOptions(), execution);
}

}  // namespace

absl::Status CheckPrivateRun(const RatingTable& ratings,
                             const PrivateRunOptions& options) {
  return PlanFor(DescriptionOf(ratings, options.adjacency, options.users),
                 options, {})
      .status();
}

absl::StatusOr<PrivateRun> RunPrivately(std::span<const WeightedPeople> groups,
                                        const Eigen::MatrixXd& item_features,
                                        const PrivateRunOptions& options,
                                        const Execution& execution) {
  const Clock::time_point begin = Clock::now();
  const std::uint64_t people = PeopleOf(groups, options);
  std::vector<std::unique_ptr<Dataset>> data;
  std::vector<GroupOfRun> weighted;
  for (const WeightedPeople& group : groups) {
    DPNMF_ASSIGN_OR_RETURN(
        data.emplace_back(),
        ToDataset(*group.ratings, options.adjacency,
                  groups.size() == 1 ? people : group.ratings->people()));
    weighted.push_back({data.back().get(), group.weight});
  }
  DatasetDescription description = data[0]->description();
  description.users = people;
  DPNMF_ASSIGN_OR_RETURN(ProductRun product,
                         PlanFor(description, options, execution));
  RatingsFacts facts;
  facts.dataset = FactsFor(description, options);
  facts.item_features = item_features;
  facts.non_negative = options.non_negative;
  facts.stopped = execution.stop;
  facts.parameters = product.parameters();
  facts.plan = product.plan();
  SeededNoise noise(
      SeedFor(options.seed, absl::StrFormat("ratings %.17g", options.epsilon)));
  for (std::uint32_t round = 1; round <= facts.parameters.rounds; ++round) {
    DPNMF_RETURN_IF_ERROR(product.Round(round, &weighted, &facts, &noise));
  }
  PrivateRun run;
  DPNMF_ASSIGN_OR_RETURN(run.model,
                         RatingsModel(facts, product.state().memory));
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
