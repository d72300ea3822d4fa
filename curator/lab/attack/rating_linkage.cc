#include "curator/lab/attack/rating_linkage.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/parallel.h"
#include "curator/lab/attack/sampling.h"
#include "curator/lab/tables/draws.h"

namespace dpnmf::curator::lab {
namespace {

constexpr int kAll = 0;  // all ratings of a person
constexpr int kKnownRatings[] = {1, 2, 4, 8, 16, 32, kAll};
constexpr double kRatingError = 1;
constexpr double kSimilarity = 1.5;    // rho_0 of the publication
constexpr double kEccentricity = 1.5;  // phi

// What is known of a target.
struct KnownRatings {
  int person = 0;
  std::vector<int> items;
  std::vector<double> ratings;
};

// Scores of all rows, the higher the nearer.
using Scorer = std::function<Eigen::ArrayXd(const KnownRatings&)>;

struct ScoredAttack {
  std::string how;  // after "4 ratings"
  Scorer scorer = {};
  bool confident = false;  // tells whether the best stands out
};

// 1/m if the person's row is among the m best.
double OwnShare(const Eigen::ArrayXd& scores, int person) {
  const double best = scores.maxCoeff();
  const double slack = 1e-9 * std::abs(best) + 1e-12;
  if (!(scores[person] >= best - slack)) return 0;
  return 1 / static_cast<double>((scores >= best - slack).count());
}

bool StandsOut(const Eigen::ArrayXd& scores) {
  Eigen::Index at = 0;
  const double best = scores.maxCoeff(&at);
  double second = -std::numeric_limits<double>::infinity();
  for (Eigen::Index r = 0; r < scores.size(); ++r)
    if (r != at) second = std::max(second, scores[r]);
  const double variance = (scores - scores.mean()).square().mean();
  return variance > 0 && best - second >= kEccentricity * std::sqrt(variance);
}

absl::Status WrongRatings(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "attack-mismatch",
                 sentence);
}

class RatingsJudge {
 public:
  RatingsJudge(const RatingTable& original, const AttackOptions& options)
      : original_(original), options_(options), draws_(options.seed) {
    for (std::size_t person = 0; person < original.people(); ++person)
      if (original.indptr[person + 1] > original.indptr[person])
        targets_.push_back(static_cast<int>(person));
    draws_.Sample(static_cast<std::size_t>(options.people), &targets_);
  }

  absl::StatusOr<AttackReport> Run(const std::vector<ScoredAttack>& attacks) {
    if (targets_.empty() || original_.people() < 2)
      return WrongRatings("An attack needs two people, and somebody's rating.");
    report_.others["people"] = {{"people", original_.people()},
                                {"items", original_.item_count},
                                {"ratings", original_.size()},
                                {"attacked", targets_.size()},
                                {"attacked_are", "people who have rated"}};
    for (const double error : {0.0, kRatingError})
      for (const int count : kKnownRatings)
        DPNMF_RETURN_IF_ERROR(
            AttackWith(attacks, Draw(count, error), count, error));
    for (const Linkage& one : report_.linkage)
      report_.largest_linkage =
          std::max(report_.largest_linkage, one.linked.high);
    return std::move(report_);
  }

 private:
  std::vector<KnownRatings> Draw(int count, double error) {
    std::vector<KnownRatings> all;
    const double low = LowOf(original_.scale), high = HighOf(original_.scale);
    for (const int person : targets_) {
      const std::size_t begin =
          original_.Begin(static_cast<std::size_t>(person));
      const std::size_t end =
          original_.Begin(static_cast<std::size_t>(person) + 1);
      std::vector<int> places = AllOf(static_cast<Eigen::Index>(end - begin));
      draws_.Sample(
          count == kAll ? places.size() : static_cast<std::size_t>(count),
          &places);
      KnownRatings known = {.person = person, .items = {}, .ratings = {}};
      for (const int place : places) {
        const std::size_t at = begin + static_cast<std::size_t>(place);
        known.items.push_back(original_.items[at]);
        known.ratings.push_back(std::clamp(
            RatingOf(original_.units[at]) + error * (2 * draws_.Uniform() - 1),
            low, high));
      }
      all.push_back(std::move(known));
    }
    return all;
  }

  absl::Status AttackWith(const std::vector<ScoredAttack>& attacks,
                          const std::vector<KnownRatings>& known, int count,
                          double error) {
    for (const ScoredAttack& attack : attacks) {
      std::vector<double> shares(known.size());
      std::vector<char> confident(known.size());
      std::atomic<bool> stopped = false;
      std::atomic<std::size_t> done = 0;
      ParallelFor(known.size(), options_.threads,
                  [&](std::size_t t, int worker) {
                    if (stopped || (options_.stop && options_.stop())) {
                      stopped = true;
                      return;
                    }
                    const Eigen::ArrayXd scores = attack.scorer(known[t]);
                    shares[t] = OwnShare(scores, known[t].person);
                    confident[t] = attack.confident && StandsOut(scores);
                    ++done;
                    if (worker == 0 && options_.progress)
                      options_.progress("linkage by ratings",
                                        static_cast<double>(done) /
                                            static_cast<double>(known.size()));
                  });
      if (stopped)
        return Refusal(absl::StatusCode::kCancelled, "cancelled",
                       "The attack was interrupted.");
      Add(attack, shares, confident, count, error);
    }
    return absl::OkStatus();
  }

  void Add(const ScoredAttack& attack, const std::vector<double>& shares,
           const std::vector<char>& confident, int count, double error) {
    const std::int64_t of = static_cast<std::int64_t>(shares.size());
    double found = 0, right = 0;
    std::int64_t sure = 0;
    for (std::size_t t = 0; t < shares.size(); ++t) {
      found += shares[t];
      if (!confident[t]) continue;
      ++sure;
      right += shares[t];
    }
    const std::string knows = absl::StrCat(
        count == kAll
            ? "all ratings"
            : absl::StrCat(count, count == 1 ? " rating" : " ratings"),
        attack.how, error > 0 ? " within an error" : "");
    const double guess = 1 / static_cast<double>(original_.people());
    const Share linked = ShareOfExpected(found, of);
    report_.linkage.push_back(
        {.knows = knows,
         .known = count,
         .error = error,
         .linked = linked,
         .chance = {.value = guess, .low = guess, .high = guess, .of = of}});
    const auto keep_stronger = [&](std::optional<Share>* strongest) {
      if (!strongest->has_value() || linked.value > (*strongest)->value)
        *strongest = linked;
    };
    if (error == 0 && count == kAll) keep_stronger(&report_.linked_all_known);
    if (error == 0 && count == 4) keep_stronger(&report_.linked_4_known);
    if (attack.confident)
      report_.others["confident"].push_back(
          {{"knows", knows},
           {"people", ToJson(ShareOf(sure, of))},
           {"right", ToJson(ShareOfExpected(right, sure))}});
  }

  const RatingTable& original_;
  const AttackOptions& options_;
  Draws draws_;
  std::vector<int> targets_;
  AttackReport report_;
};

}  // namespace

absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const Eigen::MatrixXd& completed,
                                           const AttackOptions& options) {
  if (completed.rows() != static_cast<Eigen::Index>(original.people()) ||
      completed.cols() != static_cast<Eigen::Index>(original.item_count) ||
      completed.size() == 0 || !completed.allFinite())
    return WrongRatings(
        "The completed table must have a finite number for every person and "
        "item of the ratings.");
  const Eigen::RowVectorXd means = completed.colwise().mean();
  Eigen::ArrayXd lengths = Eigen::ArrayXd::Zero(completed.rows());
  for (Eigen::Index c = 0; c < completed.cols(); ++c)
    lengths += (completed.col(c).array() - means[c]).square();
  // A row of means is parallel to nothing.
  lengths = (lengths > 0).select(lengths.sqrt(), 1);
  const auto by_distance = [&](const KnownRatings& known) -> Eigen::ArrayXd {
    Eigen::ArrayXd scores = Eigen::ArrayXd::Zero(completed.rows());
    for (std::size_t i = 0; i < known.items.size(); ++i)
      scores -=
          (completed.col(known.items[i]).array() - known.ratings[i]).square();
    return scores;
  };
  const auto by_direction = [&](const KnownRatings& known) -> Eigen::ArrayXd {
    Eigen::ArrayXd scores = Eigen::ArrayXd::Zero(completed.rows());
    for (std::size_t i = 0; i < known.items.size(); ++i) {
      const Eigen::Index item = known.items[i];
      scores += (known.ratings[i] - means[item]) *
                (completed.col(item).array() - means[item]);
    }
    return scores / lengths;
  };
  return RatingsJudge(original, options)
      .Run({{.how = "", .scorer = by_distance},
            {.how = ", less the items' means", .scorer = by_direction}});
}

absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const RatingTable& published,
                                           const AttackOptions& options) {
  if (published.people() != original.people() ||
      published.item_count != original.item_count)
    return WrongRatings(
        "The published ratings must be of the same people and items as the "
        "original.");
  const ByItem by_item = Transpose(published);
  const auto score = [&](const KnownRatings& known) -> Eigen::ArrayXd {
    Eigen::ArrayXd scores =
        Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(published.people()));
    for (std::size_t i = 0; i < known.items.size(); ++i) {
      const std::size_t item = static_cast<std::size_t>(known.items[i]);
      const std::int64_t begin = by_item.indptr[item];
      const std::int64_t end = by_item.indptr[item + 1];
      const double weight =
          1 / std::log(std::max<double>(2, static_cast<double>(end - begin)));
      for (std::int64_t at = begin; at < end; ++at) {
        const std::size_t place = static_cast<std::size_t>(at);
        const double rating = RatingOf(
            published.units[static_cast<std::size_t>(by_item.at[place])]);
        scores[by_item.people[place]] +=
            weight *
            std::exp(-std::abs(rating - known.ratings[i]) / kSimilarity);
      }
    }
    return scores;
  };
  return RatingsJudge(original, options)
      .Run({{.how = "", .scorer = score, .confident = true}});
}

}  // namespace dpnmf::curator::lab
