#include "lab/ratings/evaluation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/ratings/baselines.h"
#include "lab/ratings/private_run.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

using Clock = std::chrono::steady_clock;

absl::StatusOr<RatingsData> Load(const EvaluateRatingsOptions& options,
                                 const std::function<bool()>& stop,
                                 RatingsEvaluation* evaluation) {
  DPNMF_ASSIGN_OR_RETURN(
      const ItemTable items,
      LoadItemTable(options.items, options.item_features,
                    {.header = ItemHeaderOf(options.ratings)}));
  RatingsOptions load;
  DPNMF_ASSIGN_OR_RETURN(load.scale, ParseRatingRange(options.rating_range));
  load.scale.item_features =
      static_cast<std::uint32_t>(items.feature_names.size());
  load.users_count = options.users_count;
  load.drop_unlisted = options.drop_unlisted;
  load.keep_times = options.by == HoldOutBy::kTime;
  load.interrupted = stop;
  DPNMF_ASSIGN_OR_RETURN(LoadedRatings loaded,
                         LoadRatings(options.ratings, items, load));
  RatingsData data;
  data.users = options.users_count.value_or(loaded.people());
  evaluation->replaced = loaded.replaced;
  evaluation->unlisted = loaded.unlisted;
  data.table.scale = load.scale;
  data.table.item_count = loaded.items;
  data.table.indptr = std::move(loaded.indptr);
  data.table.items = std::move(loaded.indices);
  data.table.units = std::move(loaded.units);
  data.table.times = std::move(loaded.times);
  data.item_features = Eigen::Map<const Eigen::MatrixXd>(
      items.features.data(), static_cast<Eigen::Index>(items.ids.size()),
      static_cast<Eigen::Index>(items.feature_names.size()));
  return data;
}

// One run of the publication's figures.
struct StudyPlan {
  const char* study;
  double epsilon_per_round;
  int profile_length = 20;
  double step = 5e-4;
};

// Figures 1 to 3; 4 to 6; 7 to 18; 19 to 27.
std::vector<StudyPlan> StudyPlans() {
  std::vector<StudyPlan> plans;
  for (const char* study : {"rounds", "epsilon"}) {
    for (const double epsilon : {0.0, 0.15, 0.2, 0.3, 0.4, 0.5, 0.8})
      plans.push_back({study, epsilon});
  }
  for (const double epsilon : {0.0, 0.15, 0.5}) {
    for (const int length : {5, 10, 20, 40, 80, 160, 320})
      plans.push_back({"n", epsilon, length});
    for (const double step : {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3})
      plans.push_back({"step", epsilon, 20, step});
  }
  return plans;
}

PublishedOptions OptionsOf(const StudyPlan& plan,
                           const EvaluateRatingsOptions& options) {
  PublishedOptions published;
  published.profile_length = plan.profile_length;
  published.step = plan.step;
  published.epsilon_per_round = plan.epsilon_per_round;
  published.overall_delta = options.run.delta;
  published.seed = SeedFor(options.seed, "published study");
  published.stop_when_converged = std::string_view(plan.study) != "rounds";
  return published;
}

std::string TitleOf(const StudyPlan& plan) {
  return absl::StrFormat(
      "published study of %s: epsilon %g a round, n %d, step %g", plan.study,
      plan.epsilon_per_round, plan.profile_length, plan.step);
}

// One evaluation under way.
class RatingsEvaluator {
 public:
  RatingsEvaluator(const EvaluateRatingsOptions& options,
                   const RatingsHooks& hooks, const RatingsData& data,
                   RatingsEvaluation* evaluation)
      : options_(options),
        hooks_(hooks),
        data_(data),
        methods_(MethodsOf(options, data.table.item_count)),
        evaluation_(evaluation) {
    execution_.threads = options.threads;
    execution_.stop = hooks.stop;
  }

  absl::Status Run() {
    DPNMF_RETURN_IF_ERROR(CheckPlans());
    const std::vector<StudyPlan> study =
        options_.published_study ? StudyPlans() : std::vector<StudyPlan>();
    std::size_t trials = 0;
    for (const RatingsMethod method : methods_)
      trials += TakesEpsilon(method) ? options_.epsilon.size() : 1;
    evaluation_->planned = trials * options_.repeats + study.size();
    for (std::uint32_t repeat = 1; repeat <= options_.repeats; ++repeat) {
      DPNMF_ASSIGN_OR_RETURN(const Split split, SplitOf(repeat));
      DPNMF_RETURN_IF_ERROR(RunMethods(split, repeat));
      if (repeat > 1) continue;
      for (const StudyPlan& plan : study)
        DPNMF_RETURN_IF_ERROR(RunStudy(split, plan));
    }
    return absl::OkStatus();
  }

 private:
  // Refuses, before the first trial, options that the private runs would
  // refuse. People who are held out make N smaller than it is here.
  absl::Status CheckPlans() const {
    if (std::find(methods_.begin(), methods_.end(), RatingsMethod::kRatings) ==
        methods_.end())
      return absl::OkStatus();
    PrivateRunOptions run = options_.run;
    run.users = data_.users;
    for (const double epsilon : options_.epsilon) {
      run.epsilon = epsilon;
      DPNMF_RETURN_IF_ERROR(CheckPrivateRun(data_.table, run));
    }
    return absl::OkStatus();
  }

  std::uint64_t SeedOf(std::uint32_t repeat, const char* purpose) const {
    return SeedFor(options_.seed, absl::StrCat(purpose, " ", repeat));
  }

  absl::StatusOr<Split> SplitOf(std::uint32_t repeat) const {
    return HoldOut(data_.table, options_.by, options_.holdout,
                   SeedOf(repeat, "split"));
  }

  absl::Status RunMethods(const Split& split, std::uint32_t repeat) {
    for (const RatingsMethod method : methods_) {
      if (!TakesEpsilon(method)) {
        DPNMF_RETURN_IF_ERROR(RunTrial(split, method, kNotMeasured, repeat));
        continue;
      }
      for (const double epsilon : options_.epsilon)
        DPNMF_RETURN_IF_ERROR(RunTrial(split, method, epsilon, repeat));
    }
    return absl::OkStatus();
  }

  absl::Status RunTrial(const Split& split, RatingsMethod method,
                        double epsilon, std::uint32_t repeat) {
    std::string title =
        absl::StrCat("repeat ", repeat, ", ", std::string(NameOf(method)));
    if (TakesEpsilon(method))
      absl::StrAppend(&title, absl::StrFormat(", epsilon %g", epsilon));
    Announce(title);
    RatingsResult result;
    result.method = method;
    result.epsilon = epsilon;
    result.repeat = repeat;
    const Clock::time_point begin = Clock::now();
    DPNMF_ASSIGN_OR_RETURN(const Recommender recommender,
                           Learn(split, &result));
    result.seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    DPNMF_ASSIGN_OR_RETURN(result.metrics,
                           Measure(split, recommender, execution_));
    evaluation_->results.push_back(std::move(result));
    return Finished();
  }

  absl::StatusOr<Recommender> Learn(const Split& split, RatingsResult* result) {
    switch (result->method) {
      case RatingsMethod::kMean:
        return MeanOfAll(split.train);
      case RatingsMethod::kPopularity:
        return Popularity(split.train);
      case RatingsMethod::kBias:
        return Biases(split.train);
      case RatingsMethod::kAls:
        return Als(split.train, {.seed = SeedOf(result->repeat, "als")},
                   execution_);
      case RatingsMethod::kEase:
        return Ease(split.train, kEaseRegularisation, execution_);
      case RatingsMethod::kPublished:
        return LearnAsPublished(split, result);
      case RatingsMethod::kRatings:
        return LearnPrivately(split, *result);
    }
    return absl::InternalError("no such method");
  }

  absl::StatusOr<Recommender> LearnAsPublished(const Split& split,
                                               RatingsResult* result) {
    PublishedOptions published;
    published.overall_delta = options_.run.delta;
    published.epsilon_per_round =
        PublishedEpsilonPerRound(result->epsilon, published.rounds,
                                 published.delta, published.overall_delta);
    published.seed = SeedOf(result->repeat, "published");
    result->epsilon_per_round = published.epsilon_per_round;
    DPNMF_ASSIGN_OR_RETURN(PublishedRun run,
                           RunPublished(split, published, 0, execution_));
    return RecommenderOf(std::move(run));
  }

  absl::StatusOr<Recommender> LearnPrivately(const Split& split,
                                             const RatingsResult& result) {
    PrivateRunOptions run = options_.run;
    run.epsilon = result.epsilon;
    run.users = run.adjacency == Adjacency::kAddRemoveOne
                    ? data_.users
                    : split.train.people();
    run.seed = SeedOf(result.repeat, "ratings");
    const std::array<WeightedPeople, 1> everybody = {{{&split.train, 1}}};
    DPNMF_ASSIGN_OR_RETURN(
        PrivateRun learned,
        RunPrivately(everybody, data_.item_features, run, execution_));
    if (result.repeat == 1)
      evaluation_->plans.push_back(
          {result.epsilon, learned.parameters, learned.plan});
    return RecommenderOf(std::move(learned.model));
  }

  absl::Status RunStudy(const Split& split, const StudyPlan& plan) {
    Announce(TitleOf(plan));
    StudyRun study;
    study.study = plan.study;
    study.options = OptionsOf(plan, options_);
    DPNMF_ASSIGN_OR_RETURN(study.run,
                           RunPublished(split, study.options, 10, execution_));
    study.run.x.resize(0, 0);
    study.run.theta.resize(0, 0);
    evaluation_->study.push_back(std::move(study));
    return Finished();
  }

  void Announce(const std::string& title) const {
    if (hooks_.before_trial) {
      hooks_.before_trial(
          evaluation_->results.size() + evaluation_->study.size() + 1,
          evaluation_->planned, title);
    }
  }
  absl::Status Finished() const {
    return hooks_.after_trial ? hooks_.after_trial(*evaluation_)
                              : absl::OkStatus();
  }

  const EvaluateRatingsOptions& options_;
  const RatingsHooks& hooks_;
  const RatingsData& data_;
  const std::vector<RatingsMethod> methods_;
  Execution execution_;
  RatingsEvaluation* evaluation_;
};

constexpr std::array<double Metrics::*, 5> kFigures = {
    &Metrics::rmse, &Metrics::mae, &Metrics::recall20, &Metrics::ndcg20,
    &Metrics::coverage};

constexpr std::array<double PopularityGroup::*, 5> kGroupFigures = {
    &PopularityGroup::rating_share, &PopularityGroup::list_share,
    &PopularityGroup::listed_share, &PopularityGroup::rmse,
    &PopularityGroup::recall};

RatingsSummary SummaryOf(const Repeats<RatingsResult>& repeats) {
  RatingsSummary summary;
  summary.method = repeats[0]->method;
  summary.epsilon = repeats[0]->epsilon;
  summary.repeats = static_cast<std::uint32_t>(repeats.size());
  summary.seconds = SpreadOver(repeats, [](const RatingsResult& one) {
                      return one.seconds;
                    }).median;
  for (double Metrics::*figure : kFigures) {
    const Spread spread = SpreadOver(
        repeats, [&](const RatingsResult& one) { return one.metrics.*figure; });
    summary.median.*figure = spread.median;
    summary.least.*figure = spread.least;
    summary.largest.*figure = spread.largest;
  }
  summary.median.groups = repeats[0]->metrics.groups;
  for (std::size_t g = 0; g < summary.median.groups.size(); ++g) {
    for (double PopularityGroup::*figure : kGroupFigures) {
      summary.median.groups[g].*figure =
          SpreadOver(repeats, [&](const RatingsResult& one) {
            return one.metrics.groups[g].*figure;
          }).median;
    }
  }
  return summary;
}

}  // namespace

absl::Status EvaluateRatings(const EvaluateRatingsOptions& options,
                             const RatingsHooks& hooks, const RatingsData& data,
                             RatingsEvaluation* evaluation) {
  evaluation->items = data.table.item_count;
  evaluation->features = static_cast<std::uint64_t>(data.item_features.cols());
  evaluation->people = data.table.people();
  evaluation->users = data.users;
  evaluation->ratings = data.table.size();
  const absl::Status done =
      RatingsEvaluator(options, hooks, data, evaluation).Run();
  return absl::IsCancelled(done) && hooks.stop && hooks.stop()
             ? absl::OkStatus()
             : done;
}

absl::StatusOr<RatingsEvaluation> EvaluateRatings(
    const EvaluateRatingsOptions& options, const RatingsHooks& hooks) {
  DPNMF_RETURN_IF_ERROR(CheckEvaluateRatingsOptions(options));
  RatingsEvaluation evaluation;
  evaluation.name = std::filesystem::path(options.ratings).filename();
  DPNMF_ASSIGN_OR_RETURN(const RatingsData data,
                         Load(options, hooks.stop, &evaluation));
  DPNMF_RETURN_IF_ERROR(EvaluateRatings(options, hooks, data, &evaluation));
  return evaluation;
}

std::vector<RatingsSummary> Summarise(const RatingsEvaluation& evaluation) {
  const auto same = [](const RatingsResult& a, const RatingsResult& b) {
    return a.method == b.method &&
           (a.epsilon == b.epsilon || !TakesEpsilon(a.method));
  };
  std::vector<RatingsSummary> summaries;
  for (const auto& repeats : RepeatsOf(evaluation.results, same))
    summaries.push_back(SummaryOf(repeats));
  return summaries;
}

}  // namespace dpnmf::curator::lab
