#include "lab/evaluate/methods.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/moments/moments.h"
#include "common/nmf/defaults.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/statistics_update.h"
#include "common/privacy/mechanism.h"
#include "curator/factor/moments.h"
#include "curator/factor/statistics.h"
#include "lab/evaluate/noised_mean.h"
#include "lab/evaluate/paper.h"
#include "lab/evaluate/prior_files.h"
#include "lab/evaluate/product_run.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/factorize/factorize.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using Clock = std::chrono::steady_clock;

// Seconds of work, not of measuring.
class Stopwatch {
 public:
  void Start() { begin_ = Clock::now(); }
  void Stop() {
    seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  double seconds() const { return seconds_; }

 private:
  Clock::time_point begin_ = Clock::now();
  double seconds_ = 0;
};

// Inputs of a way of learning.
struct TrialContext {
  const DataView& v;
  const DataView& clean;
  const Trial& trial;

  double users() const { return static_cast<double>(v.users()); }
  Execution execution() const { return {trial.threads, 0, trial.stop}; }
};

SeededNoise NoiseOf(const Trial& trial) {
  return SeededNoise(SeedFor(
      trial.seed,
      absl::StrFormat("%s %d %.17g %d", std::string(NameOf(trial.method)),
                      trial.outliers ? 1 : 0, trial.epsilon, trial.rounds)));
}

Eigen::MatrixXf DenseOf(const DataView& v) {
  Eigen::MatrixXf dense = Eigen::MatrixXf::Zero(v.features(), v.users());
  for (Index n = 0; n < v.users(); ++n) {
    v.ForNonzeros(n, [&](Index row, double value) {
      dense(row, n) = static_cast<float>(value);
    });
  }
  return dense;
}

// Adds the objective of W to the curve where the round is one of its points.
class CurveDrawer {
 public:
  CurveDrawer(const TrialContext& place, std::uint32_t rounds)
      : place_(place), rounds_(rounds) {}

  void Add(std::uint32_t round, const MatrixXd& w, Learned* learned) {
    if (!IsCurveRound(round, rounds_)) return;
    learned->objective =
        place_.trial.law.loss == Loss::kKullbackLeibler
            ? DivergenceOf(DenseOf(place_.clean), w, place_.trial.threads,
                           place_.trial.stop)
            : Objective(place_.clean, w, place_.trial.threads, &h_);
    learned->curve.push_back({round, learned->objective});
  }

 private:
  const TrialContext& place_;
  std::uint32_t rounds_;
  MatrixXd h_;
};

// --- mechanisms of the product

absl::StatusOr<ProductRun> RunOf(const TrialContext& place) {
  const Trial& trial = place.trial;
  RunParameters run;
  run.rank = static_cast<std::uint32_t>(trial.rank);
  run.rounds = TakesRounds(trial.method) ? trial.rounds : 0;
  run.epsilon = trial.epsilon;
  run.delta = trial.delta;
  run.mechanism = std::string(NameOf(trial.method));
  run.conversion = trial.conversion;
  run.outliers = trial.outliers;
  run.lambda = trial.lambda;
  run.outlier_bound = trial.outlier_bound;
  run.share_of_moments = run.share_of_mean = 0;
  DatasetFacts facts = FactsOf(place.v.data().description());
  facts.adjacency = Adjacency::kReplaceOne;
  facts.conversion = trial.conversion;
  facts.max_rounds = kMaxRounds;
  v1::LearnerOptions learner;
  learner.set_seed(trial.seed);
  if (trial.law.loss == Loss::kKullbackLeibler) learner.set_loss(v1::LOSS_KL);
  learner.set_sparseness(trial.law.sparseness);
  return ProductRun::Create(std::move(run), facts, std::move(learner),
                            place.execution());
}

// Public knowledge of a trial as a run keeps it.
void KeepKnowledge(const Trial& trial, analyst::LearnerState* state) {
  if (trial.order != nullptr) state->order = *trial.order;
  if (trial.priors == nullptr) return;
  for (const Prior& prior : *trial.priors) {
    analyst::KeptPrior& kept = state->priors.emplace_back();
    kept.columns = prior.columns.sparseView();
    kept.dictionary = prior.dictionary;
    kept.moment = prior.moment;
    kept.rows.resize(static_cast<std::size_t>(prior.moment.rows()));
    std::iota(kept.rows.begin(), kept.rows.end(), 0);
  }
}

absl::StatusOr<Learned> LearnAsShipped(const TrialContext& place) {
  Learned learned;
  Stopwatch watch;
  DPNMF_ASSIGN_OR_RETURN(ProductRun run, RunOf(place));
  KeepKnowledge(place.trial, &run.state());
  SeededNoise noise = NoiseOf(place.trial);
  std::vector<GroupOfRun> people(1);
  people[0].data = &place.v.data();
  watch.Stop();
  // Rounds of a stage of A and B each improve W; of the others the last gives
  // it.
  const bool improves = TakesRounds(place.trial.method);
  const std::uint32_t rounds = run.parameters().rounds;
  CurveDrawer curve(place, rounds);
  if (improves) curve.Add(0, run.state().w, &learned);
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    watch.Start();
    DPNMF_RETURN_IF_ERROR(run.Round(round, &people, nullptr, &noise));
    watch.Stop();
    if (improves) curve.Add(round, run.state().w, &learned);
  }
  learned.w = run.state().w;
  learned.seconds = watch.seconds();
  if (!improves) CurveDrawer(place, 1).Add(1, learned.w, &learned);
  return learned;
}

// --- rounds of A and B that are the lab's

StatisticsRequest RequestOf(const TrialContext& place, const MatrixXd* w,
                            int bits) {
  StatisticsRequest request;
  request.w = w;
  request.outliers = place.trial.outliers;
  request.lambda = place.trial.lambda;
  request.outlier_bound = place.trial.outlier_bound;
  request.coefficient_bits = request.data_bits = bits;
  return request;
}

struct MeansOfRound {
  MatrixXd a, b;
};
// From the exact sums of a round.
using NoiseOfRound = std::function<MeansOfRound(const ExactSums&)>;
// W after the round.
using StepOfRound =
    std::function<void(std::uint32_t round, MeansOfRound means, MatrixXd* w)>;

absl::StatusOr<Learned> LearnInRounds(const TrialContext& place, MatrixXd start,
                                      std::uint32_t rounds, int bits,
                                      const NoiseOfRound& noise,
                                      const StepOfRound& step) {
  Learned learned;
  learned.w = std::move(start);
  Stopwatch watch;
  watch.Stop();
  CurveDrawer curve(place, rounds);
  curve.Add(0, learned.w, &learned);
  Coefficients h(static_cast<std::uint64_t>(place.trial.rank),
                 place.v.data().private_user_count());
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    watch.Start();
    DPNMF_ASSIGN_OR_RETURN(
        const ExactSums sums,
        ComputeStatistics(place.v.data(), RequestOf(place, &learned.w, bits),
                          place.execution(), &h));
    step(round, noise(sums), &learned.w);
    watch.Stop();
    curve.Add(round, learned.w, &learned);
  }
  learned.seconds = watch.seconds();
  return learned;
}

MatrixXd StartOf(const TrialContext& place) {
  return RandomDictionary(static_cast<std::uint64_t>(place.v.features()),
                          static_cast<std::uint64_t>(place.trial.rank),
                          place.trial.seed);
}

// Bits such that exact sums of `users` products of vectors of length 1 keep
// below 2^62.
int BitsFor(double users) {
  return std::min(20, static_cast<int>((60 - std::log2(users)) / 2));
}

absl::StatusOr<Learned> LearnAsPublished(const TrialContext& place) {
  const Trial& trial = place.trial;
  const double users = place.users();
  const double epsilon =
      PaperEpsilonPerRound(trial.epsilon, trial.rounds, trial.delta);
  const int bits = BitsFor(users);
  const double step = std::ldexp(1.0, -2 * bits);
  const double stddev_a =
      PaperStddev(PaperSensitivityOfA(users), epsilon, trial.delta);
  const double stddev_b = PaperStddev(
      PaperSensitivityOfB(users, trial.outliers), epsilon, trial.delta);
  SeededNoise noise = NoiseOf(trial);
  const NoisedMean noised(users, &noise);
  MatrixXd start = trial.method == Method::kPaperNndsvd
                       ? NndsvdDictionary(place.v, trial.rank, trial.threads)
                       : StartOf(place);
  DPNMF_ASSIGN_OR_RETURN(
      Learned learned,
      LearnInRounds(
          place, std::move(start), trial.rounds, bits,
          [&](const ExactSums& sums) {
            return MeansOfRound{
                noised.Symmetric(sums.a, trial.rank, step, stddev_a, stddev_a),
                noised.Full(sums.b, place.v.features(), trial.rank, step,
                            stddev_b)};
          },
          [](std::uint32_t, MeansOfRound means, MatrixXd* w) {
            ProjectedGradientStep(means.a, means.b, kDefaultStepSize, w);
          }));
  learned.epsilon_per_round = epsilon;
  return learned;
}

// --- without privacy

absl::StatusOr<Learned> LearnNndsvd(const TrialContext& place) {
  Learned learned;
  Stopwatch watch;
  learned.w = NndsvdDictionary(place.v, place.trial.rank, place.trial.threads);
  watch.Stop();
  learned.seconds = watch.seconds();
  CurveDrawer(place, 0).Add(0, learned.w, &learned);
  return learned;
}

absl::StatusOr<Learned> LearnMean(const TrialContext& place) {
  Learned learned;
  Stopwatch watch;
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<std::int64_t> sums,
      ComputeMean(place.v.data(), /*data_bound=*/1, BitsFor(place.users()),
                  place.execution()));
  learned.w.resize(place.v.features(), 1);
  std::copy(sums.begin(), sums.end(), learned.w.data());
  watch.Stop();
  learned.seconds = watch.seconds();
  CurveDrawer(place, 0).Add(0, learned.w, &learned);
  return learned;
}

absl::StatusOr<Learned> LearnFromPriors(const TrialContext& place) {
  Learned learned;
  Stopwatch watch;
  FitOptions options;
  options.rank = place.trial.rank;
  options.seed = place.trial.seed;
  options.threads = place.trial.threads;
  options.stop = place.trial.stop;
  DPNMF_ASSIGN_OR_RETURN(learned.w,
                         PartsOfPriors(*place.trial.priors, options));
  watch.Stop();
  learned.seconds = watch.seconds();
  CurveDrawer(place, 0).Add(0, learned.w, &learned);
  return learned;
}

// With outliers: rounds of exact statistics.
absl::StatusOr<Learned> LearnRobustly(const TrialContext& place) {
  constexpr std::uint32_t kRounds = 100;
  const int bits = BitsFor(place.users());
  const double step = std::ldexp(1.0, -2 * bits);
  const NoisedMean exact(place.users(), nullptr);
  return LearnInRounds(
      place, StartOf(place), kRounds, bits,
      [&](const ExactSums& sums) {
        return MeansOfRound{
            exact.Symmetric(sums.a, place.trial.rank, step, 0, 0),
            exact.Full(sums.b, place.v.features(), place.trial.rank, step, 0)};
      },
      [](std::uint32_t, MeansOfRound means, MatrixXd* w) {
        UpdateFromStatistics(means.a, means.b, {.steps = kDefaultStepsPerRound},
                             w);
      });
}

absl::StatusOr<Learned> LearnWithoutPrivacy(const TrialContext& place) {
  if (place.trial.outliers) return LearnRobustly(place);
  Learned learned;
  FactorizeOptions options;
  options.rank = place.trial.rank;
  options.seed = place.trial.seed;
  options.threads = place.trial.threads;
  options.interrupted = place.trial.stop;
  options.progress = [&](const FactorizeProgress& progress) {
    const auto round = static_cast<std::uint32_t>(progress.iteration);
    if (IsCurveRound(round, 0))
      learned.curve.push_back({round, progress.objective});
  };
  DPNMF_ASSIGN_OR_RETURN(FactorizeResult result,
                         Factorize(place.v.data(), options));
  if (&place.v != &place.clean) learned.curve.clear();
  learned.w = std::move(result.w);
  learned.seconds = result.seconds;
  if (!place.trial.law.is_plain()) {
    constexpr int kIterations = 1000;
    Eigen::MatrixXf w = learned.w.cast<float>(), h;
    FitByLaw(DenseOf(place.v), place.trial.law, kIterations,
             place.trial.threads, place.trial.stop, &w, &h);
    learned.w = w.cast<double>();
    learned.curve.clear();  // they are squares
  }
  const auto last = static_cast<std::uint32_t>(result.iterations);
  while (!learned.curve.empty() && learned.curve.back().round >= last)
    learned.curve.pop_back();
  CurveDrawer(place, last).Add(last, learned.w, &learned);
  return learned;
}

absl::StatusOr<Learned> LearnBy(const TrialContext& place) {
  switch (place.trial.method) {
    case Method::kMoments:
    case Method::kAimed:
    case Method::kStatistics:
    case Method::kGradient:
      return LearnAsShipped(place);
    case Method::kPaper:
    case Method::kPaperNndsvd:
      return LearnAsPublished(place);
    case Method::kNndsvd:
      return LearnNndsvd(place);
    case Method::kMean:
      return LearnMean(place);
    case Method::kPrior:
      return LearnFromPriors(place);
    case Method::kNone:
      return LearnWithoutPrivacy(place);
  }
  return absl::InternalError("method");
}

}  // namespace

std::string_view NameOf(Method method) {
  switch (method) {
    case Method::kMoments:
      return kMomentsMechanism.name;
    case Method::kAimed:
      return kAimedMechanism.name;
    case Method::kStatistics:
      return kStatisticsMechanism.name;
    case Method::kGradient:
      return kGradientMechanism.name;
    case Method::kPaper:
      return "paper";
    case Method::kPaperNndsvd:
      return "paper-nndsvd";
    case Method::kNndsvd:
      return "nndsvd";
    case Method::kMean:
      return "mean";
    case Method::kPrior:
      return "prior";
    case Method::kNone:
      return "none";
  }
  return "";
}

bool TakesEpsilon(Method method) {
  return method != Method::kNndsvd && method != Method::kMean &&
         method != Method::kPrior && method != Method::kNone;
}

bool TakesRounds(Method method) {
  return method == Method::kStatistics || method == Method::kGradient ||
         method == Method::kPaper || method == Method::kPaperNndsvd;
}

bool TakesOutliers(Method method) {
  return method == Method::kNone || TakesRounds(method);
}

bool IsCurveRound(std::uint32_t round, std::uint32_t rounds) {
  if (round <= 10 || round == rounds) return true;
  // Rounds at which floor(log_1.2(round)) grows.
  const auto place = [](std::uint32_t at) {
    return std::floor(std::log(static_cast<double>(at)) / std::log(1.2));
  };
  return place(round) > place(round - 1);
}

absl::StatusOr<Learned> Learn(const DataView& v, const DataView& clean,
                              const Trial& trial) {
  const TrialContext place{v, clean, trial};
  DPNMF_RETURN_IF_ERROR(place.execution().CheckNotStopped());
  if (!trial.law.is_plain() &&
      v.features() * v.users() > kMostDivergentEntries) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "evaluate-option-out-of-range",
                   "`--loss kl` and `--sparse` are evaluated on matrices of at "
                   "most 1e8 entries.");
  }
  DPNMF_ASSIGN_OR_RETURN(Learned learned, LearnBy(place));
  DPNMF_RETURN_IF_ERROR(place.execution().CheckNotStopped());
  for (Index k = 0; k < learned.w.cols(); ++k) {
    const double length = learned.w.col(k).norm();
    if (length > 0) learned.w.col(k) /= length;
  }
  return learned;
}

}  // namespace dpnmf::curator::lab
