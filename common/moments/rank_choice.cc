#include "common/moments/rank_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/moments/column_fit.h"
#include "common/moments/part_judgement.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

constexpr Index kChoiceColumns = 1000;
constexpr int kChoiceTrials = 4, kTrialSteps = 12, kChoiceIterations = 60;

absl::Status CheckChoice(const RankChoiceOptions& options) {
  const std::vector<int>& ranks = options.ranks;
  bool in_order = ranks.size() <= static_cast<std::size_t>(kMostChosenRanks);
  int last = 0;
  for (const int rank : ranks) {
    in_order = in_order && rank > last && rank <= kLargestChosenRank;
    last = rank;
  }
  if (!in_order) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "ranks-out-of-range",
        absl::StrCat("`ranks` must rise, be from 1 to ", kLargestChosenRank,
                     " and at most ", kMostChosenRanks, " of them."));
  }
  if (!(options.seeds >= 2 && options.seeds <= kMostChoiceSeeds)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "seeds-out-of-range",
        absl::StrCat("`seeds` must be from 2 to ", kMostChoiceSeeds, "."));
  }
  return absl::OkStatus();
}

// One of the two halves of the release: what is held out from the other one's
// models, and the columns that its own models are fitted to.
struct ChoiceHalf {
  MatrixXd y;  // its diagonal is 0
  MatrixXf x;
};

// Cosines of columns of length 1, matched by falling cosine.
std::vector<double> MatchedCosines(const MatrixXf& w, const MatrixXf& other) {
  MatrixXd cosines = (w.transpose() * other).cast<double>();
  std::vector<double> matched;
  for (Index pair = 0; pair < w.cols(); ++pair) {
    Index i = 0, j = 0;
    matched.push_back(std::clamp(cosines.maxCoeff(&i, &j), 0.0, 1.0));
    cosines.row(i).setConstant(-1);
    cosines.col(j).setConstant(-1);
  }
  return matched;
}

// W H H' W' / n off the diagonal.
MatrixXd Predicted(const ColumnFit& fit, double trace, const Stop& stop) {
  const MatrixXd w = fit.w.cast<double>(), h = fit.h.cast<double>();
  const MatrixXd a =
      ProductTranspose(h, h, stop) * (trace / static_cast<double>(h.cols()));
  MatrixXd g = ProductTranspose(Product(w, a, stop), w, stop);
  g.diagonal().setZero();
  return g;
}

// The two halves, each half with the trace of its estimate.
struct ChoiceSplit {
  std::array<ChoiceHalf, 2> halves;
  std::array<double, 2> traces = {0, 0};
  double signal = 0;  // <Y1, Y2>
};

absl::StatusOr<ChoiceSplit> SplitNoise(const NoisedMoments& moments,
                                       const RankChoiceOptions& options,
                                       std::uint64_t seed) {
  // DenoiseMoments draws as well, from its own streams.
  Draws draws(SeedOfStream("halves of a choice", seed));
  const MatrixXd noise = DrawNoise(moments, &draws);
  ChoiceSplit split;
  for (const int of : {0, 1}) {
    NoisedMoments half = moments;
    half.g =
        of == 0 ? MatrixXd(moments.g + noise) : MatrixXd(moments.g - noise);
    half.stddev_off *= std::sqrt(2.0);
    half.stddev_diagonal *= std::sqrt(2.0);
    half.mean.resize(0);  // its noise would be that of both halves
    DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                           DenoiseMoments(half, options.stop, options.threads));
    FitOptions fit;
    fit.rank = 1;
    fit.seed = 2 * seed + static_cast<std::uint64_t>(of);
    fit.threads = options.threads;
    fit.stop = options.stop;
    ChoiceHalf& to = split.halves[static_cast<std::size_t>(of)];
    DPNMF_ASSIGN_OR_RETURN(to.x,
                           DrawMatchedColumns(denoised, kChoiceColumns, fit));
    to.y = std::move(half.g);
    to.y.diagonal().setZero();
    split.traces[static_cast<std::size_t>(of)] = denoised.trace;
  }
  split.signal = split.halves[0].y.cwiseProduct(split.halves[1].y).sum();
  return split;
}

// The best of a few starts goes on.
ColumnFit FitHalf(const MatrixXf& x, FitOptions options) {
  ColumnFit best;
  for (int trial = 0; trial < kChoiceTrials && !Stopped(options.stop);
       ++trial) {
    ColumnFit one = FitColumns(x, kTrialSteps, options);
    if (trial == 0 || one.value < best.value) best = std::move(one);
    options.seed += std::uint64_t{1} << 40;
  }
  options.start = best.w.cast<double>();
  return FitColumns(x, kChoiceIterations, options);
}

// The facts of one rank, one seed; held_out_error is not set.
RankFacts FactsOf(const ChoiceSplit& split, int rank, std::uint64_t seed,
                  const Stop& stop) {
  RankFacts facts;
  facts.rank = rank;
  std::array<ColumnFit, 2> fits;
  for (const std::size_t of : {std::size_t{0}, std::size_t{1}}) {
    FitOptions options;
    options.rank = rank;
    options.seed = 2 * seed + of;
    options.stop = stop;
    const MatrixXf& x = split.halves[of].x;
    fits[of] = FitHalf(x, options);
    if (Stopped(stop)) return facts;
    facts.explained +=
        (1 - fits[of].value / static_cast<double>(x.squaredNorm())) / 2;
    const MatrixXd predicted = Predicted(fits[of], split.traces[of], stop);
    facts.held_out +=
        (2 * predicted.cwiseProduct(split.halves[1 - of].y).sum() -
         predicted.squaredNorm()) /
        split.signal / 2;
  }
  for (const double cosine : MatchedCosines(fits[0].w, fits[1].w)) {
    facts.stability += cosine / rank;
    facts.stable_parts += cosine >= kReliablePart ? 1 : 0;
  }
  return facts;
}

// Means over the seeds.
RankFacts MeanOf(const std::vector<RankFacts>& seeds) {
  RankFacts mean;
  const auto count = static_cast<double>(seeds.size());
  double squares = 0;
  for (const RankFacts& facts : seeds) {
    mean.rank = facts.rank;
    mean.stability += facts.stability / count;
    mean.held_out += facts.held_out / count;
    mean.explained += std::clamp(facts.explained, 0.0, 1.0) / count;
    mean.stable_parts += facts.stable_parts / count;
  }
  for (const RankFacts& facts : seeds)
    squares +=
        (facts.held_out - mean.held_out) * (facts.held_out - mean.held_out);
  mean.held_out_error = std::sqrt(squares / (count - 1) / count);
  return mean;
}

// The choice in words: why there are not more parts, if larger ranks were
// compared.
std::string AdviceOn(const RankChoice& choice) {
  const std::vector<RankFacts>& ranks = choice.ranks;
  if (choice.rank == 0) {
    double stable = 0;
    for (const RankFacts& facts : ranks)
      stable = std::max(stable, facts.stable_parts);
    return stable < 1
               ? "No part comes again in both halves, each of which has twice "
                 "the release's noise variance: choose cannot tell a rank. "
                 "Judge the parts one by one (dpnmf model --parts)."
               : "No rank is advised: at each of them parts come and go with "
                 "the noise. Judge the parts one by one (dpnmf model --parts).";
  }
  const std::string advice = absl::StrCat(
      "We advise ", choice.rank, choice.rank == 1 ? " part" : " parts");
  if (choice.rank == ranks.back().rank)
    return absl::StrCat(advice, "; compare larger ranks, too.");
  double least = 1, advised = 0;
  for (const RankFacts& facts : ranks) {
    if (facts.rank == choice.rank) advised = facts.stability;
    if (facts.rank > choice.rank) least = std::min(least, facts.stability);
  }
  if (least > advised - 0.005)
    return absl::StrCat(advice, ". With more, not all parts are stable.");
  return absl::StrFormat(
      "%s. With more, stability falls to %.2f%s.", advice, least,
      ranks.back().stability > least + 0.02 ? " before it rises again" : "");
}

}  // namespace

std::vector<int> RanksToCompare(const DenoisedMoments& denoised) {
  const int last = std::min(static_cast<int>(denoised.g.rows()),
                            std::clamp(3 * denoised.directions(), 8, 40));
  std::vector<int> ranks;
  for (int rank = std::min(2, last); rank <= last; ++rank)
    ranks.push_back(rank);
  return ranks;
}

absl::StatusOr<RankChoice> ChooseRank(const NoisedMoments& moments,
                                      const RankChoiceOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckChoice(options));
  std::vector<int> ranks = options.ranks;
  if (ranks.empty()) {
    DPNMF_ASSIGN_OR_RETURN(
        const DenoisedMoments denoised,
        DenoiseMoments(moments, options.stop, options.threads));
    ranks = RanksToCompare(denoised);
  }
  std::vector<std::vector<RankFacts>> facts(ranks.size());
  for (int at = 0; at < options.seeds; ++at) {
    const std::uint64_t seed =
        options.seed * 1000 + static_cast<std::uint64_t>(at);
    DPNMF_ASSIGN_OR_RETURN(const ChoiceSplit split,
                           SplitNoise(moments, options, seed));
    // The longest first, so that the threads end together.
    ParallelForWithStop(
        ranks.size(), options.threads, options.stop,
        [&](std::size_t task, const Stop& stop) {
          const std::size_t of = ranks.size() - 1 - task;
          facts[of].push_back(FactsOf(split, ranks[of], seed, stop));
        });
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
    if (options.progress) options.progress((at + 1.0) / options.seeds);
  }
  RankChoice choice;
  for (const std::vector<RankFacts>& seeds : facts)
    choice.ranks.push_back(MeanOf(seeds));
  ChooseAmong(&choice);
  return choice;
}

void ChooseAmong(RankChoice* choice) {
  // Parts that may be unstable in a rank that is advised, and how far its
  // stability may be below the best rank's: parts that are split in two the
  // same way in most halves are not taken for new ones.
  const auto allowed = [](int rank) { return std::max(0.5, 0.05 * rank); };
  constexpr double kLoss = 0.04;
  double best = 0;
  for (const RankFacts& facts : choice->ranks)
    best = std::max(best, facts.stability);
  choice->rank = 0;
  for (const RankFacts& facts : choice->ranks) {
    if (facts.held_out > 2 * facts.held_out_error &&
        facts.stability >= best - kLoss &&
        facts.rank - facts.stable_parts <= allowed(facts.rank))
      choice->rank = facts.rank;
  }
  choice->sentence = AdviceOn(*choice);
}

}  // namespace dpnmf
