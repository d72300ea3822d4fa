#include "lab/ratings/published.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "common/base/error.h"
#include "common/threads/parallel.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = 64;  // rows of a task

// Rows of length 1, normal before.
ProfileMatrix RandomProfiles(std::size_t rows, int length, SeededNoise* noise) {
  ProfileMatrix profiles(static_cast<Index>(rows), length);
  for (Index i = 0; i < profiles.rows(); ++i) {
    for (Index k = 0; k < length; ++k) profiles(i, k) = noise->Normal();
    profiles.row(i).normalize();
  }
  return profiles;
}

ProfileMatrix Shortened(const ProfileMatrix& profiles, double clip) {
  ProfileMatrix shortened = profiles;
  for (Index i = 0; i < shortened.rows(); ++i)
    shortened.row(i) /= std::max(1.0, shortened.row(i).norm() / clip);
  return shortened;
}

// Calls row(i) for each, in blocks.
void ForRows(std::size_t rows, int threads,
             const std::function<void(std::size_t)>& row) {
  ParallelFor((rows + kBlock - 1) / kBlock, threads, [&](std::size_t b, int) {
    for (std::size_t i = b * kBlock; i < std::min(rows, (b + 1) * kBlock); ++i)
      row(i);
  });
}

double Rmse(const RatingTable& table, const ProfileMatrix& x,
            const ProfileMatrix& theta, bool clipped) {
  const double low = LowOf(table.scale), high = HighOf(table.scale);
  double squared = 0;
  for (std::size_t u = 0; u < table.people(); ++u) {
    const RatedItems rated = table.Of(u);
    for (std::size_t k = 0; k < rated.items.size(); ++k) {
      const double product =
          x.row(rated.items[k]).dot(theta.row(static_cast<Index>(u)));
      const double error =
          (clipped ? std::clamp(product, low, high) : product) -
          RatingOf(rated.units[k]);
      squared += error * error;
    }
  }
  return std::sqrt(squared / static_cast<double>(table.size()));
}

// One run under way.
class Descent {
 public:
  Descent(const Split& split, const PublishedOptions& options, int threads)
      : split_(split),
        options_(options),
        threads_(threads),
        by_item_(Transpose(split.train)),
        noise_(SeedFor(options.seed, "published")),
        stddev_(options.epsilon_per_round > 0
                    ? PublishedStddev(
                          HighOf(split.train.scale) - LowOf(split.train.scale),
                          options.clip, options.epsilon_per_round,
                          options.delta)
                    : 0) {
    run_.x =
        RandomProfiles(split.train.item_count, options.profile_length, &noise_);
    run_.theta =
        RandomProfiles(split.train.people(), options.profile_length, &noise_);
  }

  // Lines 4 to 10; false, and nothing is changed, if a number is not finite.
  bool Step() {
    const Clock::time_point begin = Clock::now();
    PublishedGradients gradients =
        GradientsOf(split_.train, by_item_, run_.x, run_.theta,
                    options_.regularisation, options_.clip, threads_);
    if (stddev_ > 0) {
      for (Index i = 0; i < gradients.theta.size(); ++i)
        gradients.theta.data()[i] += stddev_ * noise_.Normal();
    }
    gradients.x = run_.x - options_.step * gradients.x;
    gradients.theta = run_.theta - options_.step * gradients.theta;
    // Far beyond any rating, and its products are still finite.
    constexpr double kMost = 1e100;
    const bool finite = gradients.x.cwiseAbs().maxCoeff() < kMost &&
                        gradients.theta.cwiseAbs().maxCoeff() < kMost &&
                        gradients.x.allFinite() && gradients.theta.allFinite();
    if (finite) {
      run_.x.swap(gradients.x);
      run_.theta.swap(gradients.theta);
      ++run_.rounds;
    }
    seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    return finite;
  }

  double UnclippedTrainRmse() const {
    return Rmse(split_.train, run_.x, run_.theta, /*clipped=*/false);
  }

  void AddPoint() {
    PublishedRound point;
    point.round = run_.rounds;
    point.train_rmse = Rmse(split_.train, run_.x, run_.theta, /*clipped=*/true);
    point.held_out_rmse =
        split_.same_people()
            ? Rmse(split_.held_out, run_.x, run_.theta, /*clipped=*/true)
            : std::numeric_limits<double>::quiet_NaN();
    if (stddev_ > 0) {
      point.claimed_epsilon =
          PublishedOverallEpsilon(options_.epsilon_per_round, run_.rounds,
                                  options_.delta, options_.overall_delta);
    }
    run_.curve.push_back(point);
  }

  PublishedRun Finish() && {
    run_.seconds_per_round =
        run_.rounds > 0 ? seconds_ / static_cast<double>(run_.rounds) : 0;
    return std::move(run_);
  }

  void set_diverged() { run_.diverged = true; }
  std::uint32_t rounds() const { return run_.rounds; }

 private:
  const Split& split_;
  const PublishedOptions& options_;
  const int threads_;
  const ByItem by_item_;
  SeededNoise noise_;
  const double stddev_;
  PublishedRun run_;
  double seconds_ = 0;
};

// The best training RMSE, and when it was last lowered by a thousandth.
class Convergence {
 public:
  bool IsReached(std::uint32_t round, double rmse) {
    constexpr double kFall = 1e-3;
    constexpr std::uint32_t kPatience = 10;
    if (rmse < best_ * (1 - kFall)) {
      best_ = rmse;
      round_ = round;
    }
    return round >= round_ + kPatience;
  }

 private:
  double best_ = std::numeric_limits<double>::infinity();
  std::uint32_t round_ = 0;
};

}  // namespace

double PublishedStddev(double range, double clip, double epsilon_per_round,
                       double delta) {
  return range * clip / epsilon_per_round *
         std::sqrt(2 * std::log(1.25 / delta));
}

double PublishedOverallEpsilon(double epsilon_per_round, std::uint32_t rounds,
                               double delta, double overall_delta) {
  const double q = rounds * epsilon_per_round * epsilon_per_round /
                   (4 * std::log(1.25 / delta));
  return q + 2 * std::sqrt(q * std::log(1 / overall_delta));
}

double PublishedEpsilonPerRound(double overall, std::uint32_t rounds,
                                double delta, double overall_delta) {
  // overall + L = (sqrt(q) + sqrt(L))^2 with L = log(1/delta_r).
  const double log_delta = std::log(1 / overall_delta);
  const double root =
      overall / (std::sqrt(log_delta + overall) + std::sqrt(log_delta));
  return root * std::sqrt(4 * std::log(1.25 / delta) / rounds);
}

PublishedGradients GradientsOf(const RatingTable& train, const ByItem& by_item,
                               const ProfileMatrix& x,
                               const ProfileMatrix& theta,
                               double regularisation, double clip,
                               int threads) {
  const ProfileMatrix x_clipped = Shortened(x, clip);
  const ProfileMatrix theta_clipped = Shortened(theta, clip);
  PublishedGradients gradients = {regularisation * x, regularisation * theta};
  std::vector<double> errors(train.size());  // E, by person
  ForRows(train.people(), threads, [&](std::size_t u) {
    const auto person = static_cast<Index>(u);
    for (std::size_t at = train.Begin(u); at < train.Begin(u + 1); ++at) {
      const Index item = train.items[at];
      errors[at] =
          x.row(item).dot(theta.row(person)) - RatingOf(train.units[at]);
      gradients.theta.row(person) += errors[at] * x_clipped.row(item);
    }
  });
  ForRows(train.item_count, threads, [&](std::size_t i) {
    const auto item = static_cast<Index>(i);
    for (auto place = static_cast<std::size_t>(by_item.indptr[i]);
         place < static_cast<std::size_t>(by_item.indptr[i + 1]); ++place) {
      gradients.x.row(item) +=
          errors[static_cast<std::size_t>(by_item.at[place])] *
          theta_clipped.row(by_item.people[place]);
    }
  });
  return gradients;
}

absl::StatusOr<PublishedRun> RunPublished(const Split& split,
                                          const PublishedOptions& options,
                                          std::uint32_t curve_every,
                                          const Execution& execution) {
  Descent descent(split, options, execution.threads);
  Convergence convergence;
  if (curve_every > 0) descent.AddPoint();
  bool last = options.rounds == 0;
  while (!last) {
    DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
    const bool finite = descent.Step();
    if (!finite) descent.set_diverged();
    const std::uint32_t round = descent.rounds();
    last = !finite || round == options.rounds ||
           (options.stop_when_converged &&
            convergence.IsReached(round, descent.UnclippedTrainRmse()));
    if (curve_every > 0 && (last || round % curve_every == 0))
      descent.AddPoint();
  }
  return std::move(descent).Finish();
}

Recommender RecommenderOf(PublishedRun run) {
  const auto kept = std::make_shared<const PublishedRun>(std::move(run));
  return [kept](std::size_t person, RatedItems) {
    Opinion opinion;
    opinion.ratings =
        kept->x * kept->theta.row(static_cast<Index>(person)).transpose();
    opinion.scores = opinion.ratings;
    return opinion;
  };
}

}  // namespace dpnmf::curator::lab
