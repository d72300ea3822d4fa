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
#include "common/moments/aim.h"
#include "common/moments/moments.h"
#include "common/nmf/defaults.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/gradient_update.h"
#include "common/nmf/statistics_update.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/run_plan.h"
#include "curator/factor/aimed_moments.h"
#include "curator/factor/moments.h"
#include "curator/factor/statistics.h"
#include "lab/evaluate/noised_mean.h"
#include "lab/evaluate/paper.h"
#include "lab/evaluate/prior_files.h"
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
  const PublicPeople& people() const {
    static const PublicPeople none;
    return trial.people != nullptr ? *trial.people : none;
  }
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

absl::StatusOr<RunPlan> PlanOf(const TrialContext& place,
                               std::string_view mechanism,
                               std::uint32_t rounds) {
  const Trial& trial = place.trial;
  RunParameters run;
  run.rank = static_cast<std::uint32_t>(trial.rank);
  run.rounds = rounds;
  run.epsilon = trial.epsilon;
  run.delta = trial.delta;
  run.mechanism = std::string(mechanism);
  run.conversion = trial.conversion;
  run.outliers = trial.outliers;
  run.lambda = trial.lambda;
  run.outlier_bound = trial.outlier_bound;
  run.inner_iterations = kDefaultInnerIterations;
  run.share_of_a = kDefaultShareOfA;
  if (mechanism == kMomentsMechanism.name ||
      mechanism == kAimedMechanism.name) {
    run.moment_rows = static_cast<std::uint32_t>(
        std::min<Index>(place.v.features(), kMaxMomentRows));
    run.share_of_moments = mechanism == kAimedMechanism.name
                               ? kDefaultShareOfFirstMoments
                               : kDefaultShareOfMoments;
    DPNMF_ASSIGN_OR_RETURN(
        const MuSquared cost,
        LargestCost(trial.conversion, trial.epsilon, trial.delta));
    run.share_of_mean = DefaultShareOfMean(place.users(), cost.ToDouble());
  }
  DatasetFacts facts = FactsOf(place.v.data().description());
  facts.adjacency = Adjacency::kReplaceOne;
  facts.conversion = trial.conversion;
  facts.max_rounds = kMaxRounds;
  return PlanRun(run, facts);
}

// --- moments

// c_v^2, read back from the sensitivity of the part as the analyst does.
double LargestTraceOf(const PartPlan& part) {
  return L2Sensitivity(part, Adjacency::kReplaceOne) / std::sqrt(2.0);
}

// The second release of `aimed`, and both as one.
absl::StatusOr<NoisedMoments> AddAimed(const TrialContext& place,
                                       const RunPlan& plan,
                                       const NoisedMean& noised,
                                       const std::vector<int>& rows,
                                       const std::vector<std::uint32_t>& chosen,
                                       const NoisedMoments& first) {
  const PartPlan& part = plan.stages.back().parts[0];
  DPNMF_ASSIGN_OR_RETURN(
      const Aim aim,
      AimOf(first, std::sqrt(LargestTraceOf(plan.stages.rbegin()[1].parts[0])),
            place.trial.rank, place.trial.stop, place.trial.threads));
  MatrixXd directions =
      MatrixXd::Zero(place.v.features(), aim.directions.cols());
  directions(rows, Eigen::all) = aim.directions;
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<std::int64_t> sums,
      ComputeAimedMoments(place.v.data(), {&directions, aim.scale, chosen},
                          plan.data_bound, plan.data_bits, place.execution()));
  return WithAimed(first, aim,
                   noised.Part(part, static_cast<Index>(rows.size()), sums),
                   noised.Stddev(part));
}

absl::StatusOr<MatrixXd> FitMoments(const TrialContext& place,
                                    const RunPlan& plan,
                                    const NoisedMean& noised) {
  const Execution execution = place.execution();
  const bool is_aimed = place.trial.method == Method::kAimed;
  const StagePlan& last = plan.stages[plan.stages.size() - (is_aimed ? 2 : 1)];
  std::vector<int> rows(last.parts[0].rows);
  std::iota(rows.begin(), rows.end(), 0);
  VectorXd mean = VectorXd::Zero(place.v.features());
  double stddev_of_mean = 0;
  std::vector<std::uint32_t> chosen;  // empty: all
  if (&last != &plan.stages[0]) {
    const PartPlan& part = plan.stages[0].parts[0];
    DPNMF_ASSIGN_OR_RETURN(const std::vector<std::int64_t> sums,
                           ComputeMean(place.v.data(), plan.data_bound,
                                       plan.data_bits, execution));
    mean = noised.Part(part, place.v.features(), sums).col(0);
    stddev_of_mean = noised.Stddev(part);
    rows = ChooseRowsWith(place.people(), mean, stddev_of_mean,
                          static_cast<int>(rows.size()));
    chosen.assign(rows.begin(), rows.end());
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::int64_t> sums,
                         ComputeMoments(place.v.data(), chosen, plan.data_bound,
                                        plan.data_bits, execution));
  NoisedMoments moments;
  moments.g = noised.Part(last.parts[0], static_cast<Index>(rows.size()), sums);
  moments.stddev_off = noised.Stddev(last.parts[0]);
  moments.stddev_diagonal = noised.DiagonalStddev(last.parts[0]);
  if (is_aimed) {
    DPNMF_ASSIGN_OR_RETURN(
        moments, AddAimed(place, plan, noised, rows, chosen, moments));
  }
  if (place.trial.priors != nullptr) {
    moments.priors = std::make_shared<const std::vector<Prior>>(
        PriorsOnRows(*place.trial.priors, rows));
  }
  if (place.trial.order != nullptr) {
    moments.order = std::make_shared<const OrderOnRows>(
        OrderOnRows{*place.trial.order,
                    static_cast<std::uint64_t>(place.v.features()), rows});
  }
  if (plan.stages.size() > 1)
    moments.mean = MeanOnRows(mean, stddev_of_mean, rows);
  moments.largest_trace = LargestTraceOf(last.parts[0]);
  DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                         DenoiseMoments(moments, {}, place.trial.threads));
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  FitOptions options;
  options.rank = place.trial.rank;
  options.seed = place.trial.seed;
  options.threads = place.trial.threads;
  options.stop = place.trial.stop;
  options.law = place.trial.law;
  DPNMF_ASSIGN_OR_RETURN(MatrixXd w, FitDictionary(denoised, options));
  if (static_cast<Index>(rows.size()) == place.v.features()) return w;
  return LiftDictionaryWith(place.people(), w, rows, mean, stddev_of_mean,
                            place.trial.threads, place.trial.stop);
}

absl::StatusOr<Learned> LearnMoments(const TrialContext& place) {
  Learned learned;
  Stopwatch watch;
  const bool all = place.v.features() <= kMaxMomentRows;
  DPNMF_ASSIGN_OR_RETURN(
      const RunPlan plan,
      place.trial.method == Method::kAimed
          ? PlanOf(place, kAimedMechanism.name, all ? 2 : 3)
          : PlanOf(place, kMomentsMechanism.name, all ? 1 : 2));
  SeededNoise noise = NoiseOf(place.trial);
  DPNMF_ASSIGN_OR_RETURN(
      learned.w, FitMoments(place, plan, NoisedMean(place.users(), &noise)));
  watch.Stop();
  learned.seconds = watch.seconds();
  CurveDrawer(place, 1).Add(1, learned.w, &learned);
  return learned;
}

// --- rounds of A and B

StatisticsRequest RequestOf(const TrialContext& place, const MatrixXd* w,
                            int bits) {
  StatisticsRequest request;
  request.w = w;
  request.outliers = place.trial.outliers;
  request.lambda = place.trial.lambda;
  request.outlier_bound = place.trial.outlier_bound;
  request.inner_iterations = static_cast<int>(kDefaultInnerIterations);
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

// `noised` and `plan` outlive it.
NoiseOfRound NoisedSums(const TrialContext& place, const NoisedMean& noised,
                        const RunPlan& plan) {
  return [&](const ExactSums& sums) {
    const std::vector<PartPlan>& parts = plan.stages[0].parts;
    return MeansOfRound{noised.Part(parts[0], place.trial.rank, sums.a),
                        noised.Part(parts[1], place.v.features(), sums.b)};
  };
}

absl::StatusOr<Learned> LearnStatistics(const TrialContext& place) {
  DPNMF_ASSIGN_OR_RETURN(
      const RunPlan plan,
      PlanOf(place, kStatisticsMechanism.name, place.trial.rounds));
  SeededNoise noise = NoiseOf(place.trial);
  const NoisedMean noised(place.users(), &noise);
  const double stddev_a = noised.Stddev(plan.stages[0].parts[0]);
  MatrixXd a, b;
  return LearnInRounds(
      place, StartOf(place), place.trial.rounds, plan.coefficient_bits,
      NoisedSums(place, noised, plan),
      [&](std::uint32_t round, MeansOfRound means, MatrixXd* w) {
        AverageRounds(round, std::move(means.a), &a);
        AverageRounds(round, std::move(means.b), &b);
        UpdateFromStatistics(
            a, b,
            {.stddev_a = stddev_a * std::sqrt(VarianceShareOfAverage(round)),
             .step_size = kDefaultStepSize,
             .steps = kDefaultStepsPerRound},
            w);
      });
}

// Learns from W A - B of the same noised means, which the curator publishes.
absl::StatusOr<Learned> LearnGradient(const TrialContext& place) {
  DPNMF_ASSIGN_OR_RETURN(
      const RunPlan plan,
      PlanOf(place, kGradientMechanism.name, place.trial.rounds));
  SeededNoise noise = NoiseOf(place.trial);
  const NoisedMean noised(place.users(), &noise);
  const double stddev_a = noised.Stddev(plan.stages[0].parts[0]);
  const double stddev_b = noised.Stddev(plan.stages[0].parts[1]);
  GradientMemory memory;
  return LearnInRounds(
      place, StartOf(place), place.trial.rounds, plan.coefficient_bits,
      NoisedSums(place, noised, plan),
      [&](std::uint32_t round, MeansOfRound means, MatrixXd* w) {
        AddGradient(round, *w, *w * means.a - means.b, &memory);
        UpdateFromGradients(
            memory,
            {.variance = GradientNoiseVariance(stddev_a, stddev_b, *w),
             .variance_share = VarianceShareOfAverage(round),
             .largest_a_norm = plan.coefficient_bound * plan.coefficient_bound,
             .step_size = kDefaultStepSize,
             .steps = kDefaultStepsPerRound},
            w);
      });
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
      return LearnMoments(place);
    case Method::kStatistics:
      return LearnStatistics(place);
    case Method::kGradient:
      return LearnGradient(place);
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
