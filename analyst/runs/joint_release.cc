#include "analyst/runs/joint_release.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "common/privacy/mechanism.h"

namespace dpnmf::analyst {
namespace {

constexpr std::size_t kMostNamesShown = 3;

absl::Status ReleasesDiffer(const std::string& what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "releases-differ",
      absl::StrCat("The releases of ", what,
                   "; only releases of the same features can be added."));
}

// Both releases of a run of aimed make one estimate whose noise is not the same
// in all directions: it has no deviation that a sum could be given.
absl::Status ReleaseOfTwo(const v1::Run& run) {
  const std::string names =
      NamesText(dpnmf::Mechanisms(), &dpnmf::Mechanism::releases_can_be_added);
  return Refusal(
      absl::StatusCode::kInvalidArgument, "releases-differ",
      absl::StrCat("Run ", run.run_id(), " is of mechanism `",
                   run.specification().parameters().mechanism(),
                   "`; only releases of runs of `", names,
                   "` can be added: train the data set with `--mechanism ",
                   names, "`, which is charged."));
}

absl::Status ReleasesOverlap(const std::string& what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "releases-overlap",
      absl::StrCat(what,
                   " is a term of the sum twice; name each data set once."));
}

struct Term {
  JoinedSource source;
  PaidMoments paid;
  double users = 0;
  std::vector<v1::JoinedRun> runs;  // of a joint child: those it is a sum of
};

// A child is taken for the runs that have paid.
std::vector<v1::JoinedRun> RunsOf(const JoinedSource& source) {
  const v1::Run& run = source.record.run;
  if (run.joined_size() > 0) return {run.joined().begin(), run.joined().end()};
  v1::JoinedRun one;
  one.set_run_id(run.parent().empty() ? run.run_id() : run.parent());
  one.set_dataset(run.specification().parameters().dataset());
  one.set_population(source.record.population);
  one.set_users(source.dataset->users());
  return {one};
}

absl::StatusOr<Term> TermOf(JoinedSource source) {
  Term term;
  const v1::Run& run = source.record.run;
  if (!MechanismHas(run.specification().parameters().mechanism(),
                    &dpnmf::Mechanism::releases_can_be_added) ||
      Kept(source.state, kAimNumbers) != nullptr)
    return ReleaseOfTwo(run);
  DPNMF_ASSIGN_OR_RETURN(term.paid, PaidMomentsOf(run, source.state));
  if (!source.dataset.has_value() || source.dataset->users() == 0) {
    return ReleasesDiffer(absl::StrCat("run ", run.run_id(),
                                       " do not contain the number of people"));
  }
  if (source.features.LackWeights(*source.dataset)) {
    return ReleasesDiffer(absl::StrCat("data set ", source.dataset->name(),
                                       " lack the weights of its features"));
  }
  term.users = static_cast<double>(source.dataset->users());
  term.runs = RunsOf(source);
  term.source = std::move(source);
  return term;
}

// Checks that two sums can be added: the same facts of the same numbers.
absl::Status CheckAlike(const Term& a, const Term& b) {
  const v1::Dataset& first = *a.source.dataset;
  const v1::Dataset& second = *b.source.dataset;
  const std::string both =
      absl::StrCat("data sets ", first.name(), " and ", second.name());
  if (a.paid.features != b.paid.features) {
    return ReleasesDiffer(absl::StrCat(both, " have ", a.paid.features, " and ",
                                       b.paid.features, " features"));
  }
  if (a.source.features.names != b.source.features.names)
    return ReleasesDiffer(
        absl::StrCat(both, " have other names of features, or another order"));
  if (a.source.features.weights != b.source.features.weights)
    return ReleasesDiffer(
        absl::StrCat(both, " have other weights of features"));
  if (first.normalisation() != second.normalisation() ||
      first.column_bound() != second.column_bound()) {
    return ReleasesDiffer(
        absl::StrCat(both, " have another normalisation or column bound"));
  }
  if (a.source.record.guarantee.adjacency() !=
      b.source.record.guarantee.adjacency())
    return ReleasesDiffer(
        absl::StrCat(both, " have another relation between neighbours"));
  if (a.paid.rows != b.paid.rows) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "release-rows-differ",
        absl::StrCat(
            "The releases of ", both,
            " have other rows, because each run above the limit of "
            "--moment-rows chooses its own: start the later one with `dpnmf "
            "train --datasets`, which uses the rows of the first."));
  }
  return absl::OkStatus();
}

absl::Status CheckDisjoint(const std::vector<Term>& terms) {
  std::set<std::string> runs, datasets;
  for (const Term& term : terms) {
    for (const v1::JoinedRun& run : term.runs) {
      if (!runs.insert(run.run_id()).second)
        return ReleasesOverlap(absl::StrCat("The run ", run.run_id()));
      if (!datasets.insert(run.dataset()).second)
        return ReleasesOverlap(absl::StrCat("The data set ", run.dataset()));
    }
  }
  return absl::OkStatus();
}

// The parts' deviations are those of the sum over N; what is of one sum alone
// goes.
void SetNoise(const PaidMoments& sum, v1::RunPlan* plan) {
  for (v1::StagePlan& stage : *plan->mutable_stages()) {
    for (v1::PartPlan& part : *stage.mutable_parts()) {
      part.clear_stddev_steps();
      part.clear_diagonal_stddev_steps();
      part.clear_l2_sensitivity();
      if (part.name() == kPaidMoments) {
        part.set_stddev(sum.moments.stddev_off);
        part.set_diagonal_stddev(sum.moments.stddev_diagonal);
      } else {
        part.set_stddev(sum.mean_stddev);
      }
    }
  }
}

PaidMoments SumOf(const std::vector<Term>& terms, double users) {
  PaidMoments sum;
  sum.features = terms.front().paid.features;
  sum.rows = terms.front().paid.rows;
  const auto rows = static_cast<Eigen::Index>(sum.rows.size());
  const auto features = static_cast<Eigen::Index>(sum.features);
  sum.moments.g = Eigen::MatrixXd::Zero(rows, rows);
  // Without one of the means there is no mean of all.
  const bool has_mean =
      !sum.covers_all() &&
      std::all_of(terms.begin(), terms.end(), [&](const Term& term) {
        return term.paid.mean.size() == features;
      });
  if (has_mean) sum.mean = Eigen::VectorXd::Zero(features);
  for (const Term& term : terms) {
    const double weight = term.users / users;
    sum.moments.g += weight * term.paid.moments.g;
    sum.moments.stddev_off = std::hypot(sum.moments.stddev_off,
                                        weight * term.paid.moments.stddev_off);
    sum.moments.stddev_diagonal =
        std::hypot(sum.moments.stddev_diagonal,
                   weight * term.paid.moments.stddev_diagonal);
    sum.mean_stddev =
        std::hypot(sum.mean_stddev, weight * term.paid.mean_stddev);
    if (has_mean) sum.mean += weight * term.paid.mean;
  }
  return sum;
}

LearnerState StateOf(PaidMoments sum) {
  LearnerState state;
  state.w.resize(static_cast<Eigen::Index>(sum.features), 0);
  if (!sum.covers_all()) {
    Eigen::MatrixXd rows(static_cast<Eigen::Index>(sum.rows.size()), 1);
    std::copy(sum.rows.begin(), sum.rows.end(), rows.data());
    state.memory[kChosenRows] = std::move(rows);
    if (sum.mean.size() > 0) state.memory[kPaidMean] = std::move(sum.mean);
  }
  state.memory[kPaidMoments] = std::move(sum.moments.g);
  return state;
}

}  // namespace

std::string NameOfJoined(const std::vector<std::string>& datasets) {
  if (datasets.size() <= kMostNamesShown) return absl::StrJoin(datasets, "+");
  return absl::StrCat(datasets.front(), "+", datasets.size() - 1, " more");
}

absl::StatusOr<std::vector<JoinedSource>> JoinedSources(const v1::Refit& refit,
                                                        RunStore* store) {
  if (refit.joined_run_ids_size() >= kMostJoinedRuns) {
    return Refusal(absl::StatusCode::kInvalidArgument, "releases-overlap",
                   absl::StrCat("A sum has at most ", kMostJoinedRuns,
                                " terms; add some of them first, and the rest "
                                "to the run that this makes."));
  }
  std::vector<std::string> ids = {refit.run_id()};
  ids.insert(ids.end(), refit.joined_run_ids().begin(),
             refit.joined_run_ids().end());
  // Before anything is read: a release may be large.
  std::set<std::string> different;
  for (const std::string& id : ids)
    if (!different.insert(id).second)
      return ReleasesOverlap(absl::StrCat("The run ", id));
  std::vector<JoinedSource> sources;
  for (const std::string& id : ids) {
    JoinedSource source;
    DPNMF_ASSIGN_OR_RETURN(source.record, store->Get(id));
    DPNMF_ASSIGN_OR_RETURN(source.state, store->ReadLearner(id));
    DPNMF_ASSIGN_OR_RETURN(source.dataset, store->ReadDataset(id));
    source.features = StoredFeatures(id, store);
    sources.push_back(std::move(source));
  }
  return sources;
}

absl::StatusOr<NewRun> JointChildOf(std::vector<JoinedSource> sources,
                                    const v1::Refit& refit) {
  std::vector<Term> terms;
  for (JoinedSource& source : sources) {
    DPNMF_ASSIGN_OR_RETURN(Term term, TermOf(std::move(source)));
    terms.push_back(std::move(term));
  }
  DPNMF_RETURN_IF_ERROR(CheckDisjoint(terms));
  for (const Term& term : terms)
    DPNMF_RETURN_IF_ERROR(CheckAlike(terms.front(), term));

  RunRecord whole = terms.front().source.record;
  v1::Dataset dataset = *terms.front().source.dataset;
  whole.run.clear_joined();
  whole.run.set_parent(terms.front().runs.front().run_id());
  std::vector<std::string> names;
  std::uint64_t users = 0;
  for (const Term& term : terms) {
    users += term.source.dataset->users();
    for (const v1::JoinedRun& run : term.runs) {
      *whole.run.add_joined() = run;
      names.push_back(run.dataset());
    }
    const v1::Guarantee& guarantee = term.source.record.guarantee;
    if (guarantee.has_void_since() &&
        !(whole.guarantee.has_void_since() &&
          whole.guarantee.void_since() <= guarantee.void_since()))
      whole.guarantee.set_void_since(guarantee.void_since());
  }
  dataset.set_name(NameOfJoined(names));
  dataset.set_users(users);
  dataset.clear_partition();
  for (const Term& term : terms) {
    if (term.source.dataset->range().SerializeAsString() !=
        dataset.range().SerializeAsString())
      dataset.clear_range();
  }
  *dataset.mutable_guarantee() = whole.guarantee;
  v1::RunSpecification& specification = *whole.run.mutable_specification();
  specification.mutable_parameters()->set_dataset(dataset.name());
  specification.clear_priors();
  specification.clear_feature_order();
  // The law of a sum is that of the request.
  specification.mutable_learner()->clear_loss();
  specification.mutable_learner()->clear_sparseness();

  // Floating-point sums depend on their order: that of the run ids.
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.runs.front().run_id() < b.runs.front().run_id();
  });
  PaidMoments sum = SumOf(terms, static_cast<double>(users));
  *whole.run.mutable_plan() = PlanOfPaid(whole.run.plan());
  SetNoise(sum, whole.run.mutable_plan());
  DPNMF_ASSIGN_OR_RETURN(NewRun child,
                         ChildOf(whole, StateOf(std::move(sum)), refit));
  child.facts.dataset = std::move(dataset);
  return child;
}

}  // namespace dpnmf::analyst
