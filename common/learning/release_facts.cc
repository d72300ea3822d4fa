#include "common/learning/release_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/learning/fit_law_options.h"
#include "common/learning/paid_release.h"
#include "common/moments/part_judgement.h"
#include "common/moments/rank_choice.h"
#include "common/threads/parallel.h"

namespace dpnmf::analyst {
namespace {

constexpr int kPartReplicates = 8;
constexpr int kDefaultChoiceSeeds = 10;

v1::ChooseRankReply FactsReply(const dpnmf::RankFacts& facts) {
  v1::ChooseRankReply reply;
  v1::RankFacts& row = *reply.mutable_facts();
  row.set_rank(static_cast<std::uint32_t>(facts.rank));
  row.set_stability(facts.stability);
  row.set_held_out(facts.held_out);
  row.set_explained(facts.explained);
  row.set_stable_parts(
      static_cast<std::uint32_t>(std::lround(facts.stable_parts)));
  return reply;
}

// Number of parts in the forecast for the noise of these moments.
std::uint32_t ExpectedParts(const NoisedMoments& moments) {
  const double trace = moments.g.trace();
  if (!(moments.stddev_off > 0 && trace > 0)) return 0;
  // Columns of length 1 of one person: the noise's share of the signal is that
  // of a release of trace 1.
  return static_cast<std::uint32_t>(
      PredictMoments(1, static_cast<int>(moments.g.rows()),
                     std::pow(trace / moments.stddev_off, 2))
          .typical_directions);
}

constexpr std::uint32_t kMostWords = 100;

// Rows of the largest entries above 0, the largest first; of equal ones the
// first row.
std::vector<std::uint64_t> LargestRows(const Eigen::VectorXd& part,
                                       std::uint32_t most) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = 0; i < part.size(); ++i)
    if (part(i) > 0) rows.push_back(i);
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(
                                      std::min<std::size_t>(most, rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(),
                    [&](Eigen::Index a, Eigen::Index b) {
                      return part(a) != part(b) ? part(a) > part(b) : a < b;
                    });
  return {rows.begin(), end};
}

// W of each rank is fitted to the whole release, as a refit of it is.
// fitted(i): after each.
absl::StatusOr<std::vector<v1::ChooseRankReply>> WordsOf(
    const PaidMoments& paid, const std::vector<int>& ranks, std::uint32_t words,
    FitOptions options, const std::function<void(std::size_t)>& fitted) {
  DPNMF_ASSIGN_OR_RETURN(
      const DenoisedMoments denoised,
      DenoiseMoments(paid.moments, options.stop, options.threads));
  std::vector<v1::ChooseRankReply> replies;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    options.rank = ranks[i];
    DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd w,
                           FitDenoised(paid, denoised, options));
    v1::RankWords& of = *replies.emplace_back().mutable_words();
    of.set_rank(static_cast<std::uint32_t>(ranks[i]));
    for (Eigen::Index k = 0; k < w.cols(); ++k) {
      const std::vector<std::uint64_t> rows = LargestRows(w.col(k), words);
      of.add_parts()->mutable_rows()->Add(rows.begin(), rows.end());
    }
    fitted(i);
  }
  return replies;
}

}  // namespace

absl::Status CheckHasParts(const v1::Run& run, const LearnerState& state) {
  if (run.state() != v1::RUN_STATE_COMPLETED) return ErrorsUnavailable();
  const auto paid = PaidMomentsOf(run, state);
  return ReasonCode(paid.status()) == "release-missing" ? ErrorsUnavailable()
                                                        : paid.status();
}

absl::StatusOr<v1::PartsReply> PartsOf(const v1::Run& run,
                                       const LearnerState& state,
                                       const std::function<bool()>& stopped) {
  DPNMF_RETURN_IF_ERROR(CheckHasParts(run, state));
  DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid, PaidMomentsOf(run, state));
  FitOptions options;
  options.rank = static_cast<int>(state.w.cols());
  options.seed = run.specification().learner().seed();
  options.law = FitLawOf(run.specification().learner());
  options.threads = DefaultThreads();
  options.stop = stopped;
  DPNMF_ASSIGN_OR_RETURN(
      const DenoisedMoments denoised,
      DenoiseMoments(paid.moments, stopped, options.threads));
  Eigen::MatrixXd w = state.w(paid.rows, Eigen::all);
  for (auto column : w.colwise())
    if (column.norm() > 0) column.normalize();
  DPNMF_ASSIGN_OR_RETURN(
      const dpnmf::PartFacts facts,
      PartFactsOf(paid.moments, denoised, w, options, kPartReplicates));
  v1::PartsReply reply;
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    v1::PartFacts& part = *reply.add_parts();
    part.set_explained(facts.explained(k));
    part.set_reliability(facts.reliability(k));
    part.set_noise(JudgePart(facts.reliability(k)) == PartJudgement::kNoise);
  }
  return reply;
}

absl::Status WriteRankChoice(
    const v1::Run& run, const LearnerState& state,
    const v1::ChooseRankRequest& request, const std::function<bool()>& stopped,
    const std::function<bool(const v1::ChooseRankReply&)>& write) {
  DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid, PaidMomentsOf(run, state));
  RankChoiceOptions options;
  const auto to_int = [](std::uint32_t value) {
    return static_cast<int>(std::min<std::uint32_t>(value, 1 << 20));
  };
  for (const std::uint32_t rank : request.ranks())
    options.ranks.push_back(to_int(rank));
  options.seeds =
      request.seeds() == 0 ? kDefaultChoiceSeeds : to_int(request.seeds());
  options.seed = run.specification().learner().seed();
  options.threads = DefaultThreads();
  bool gone = false;
  options.stop = [&] { return gone || stopped(); };
  if (request.words() > kMostWords) {
    return Refusal(absl::StatusCode::kInvalidArgument, "words-out-of-range",
                   "`words` must be at most 100.");
  }
  const auto tell = [&](double share) {
    v1::ChooseRankReply reply;
    reply.set_progress(share);
    gone = gone || !write(reply);
  };
  const double comparing = request.words() > 0 ? 0.7 : 1;  // of the work
  options.progress = [&](double share) { tell(comparing * share); };
  DPNMF_ASSIGN_OR_RETURN(const dpnmf::RankChoice choice,
                         ChooseRank(paid.moments, options));
  std::vector<v1::ChooseRankReply> words;
  if (request.words() > 0) {
    std::vector<int> ranks;
    for (const dpnmf::RankFacts& facts : choice.ranks)
      ranks.push_back(facts.rank);
    FitOptions fit;
    fit.seed = options.seed;
    fit.law = FitLawOf(run.specification().learner());
    fit.threads = options.threads;
    fit.stop = options.stop;
    const auto fitted = [&](std::size_t i) {
      tell(comparing + (1 - comparing) * static_cast<double>(i + 1) /
                           static_cast<double>(ranks.size()));
    };
    DPNMF_ASSIGN_OR_RETURN(words,
                           WordsOf(paid, ranks, request.words(), fit, fitted));
  }
  for (const dpnmf::RankFacts& facts : choice.ranks)
    if (!write(FactsReply(facts))) return absl::OkStatus();
  for (const v1::ChooseRankReply& reply : words)
    if (!write(reply)) return absl::OkStatus();
  v1::ChooseRankReply reply;
  v1::RankChoice& advice = *reply.mutable_choice();
  advice.set_rank(static_cast<std::uint32_t>(choice.rank));
  advice.set_expected(ExpectedParts(paid.moments));
  advice.set_sentence(choice.sentence);
  write(reply);
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
