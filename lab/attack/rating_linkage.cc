#include "lab/attack/rating_linkage.h"

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
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/threads/parallel.h"
#include "lab/attack/figures.h"
#include "lab/attack/sampling.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {
namespace {

constexpr int kAll = 0;  // all ratings of a person
constexpr int kKnownRatings[] = {1, 2, 4, 8, 16, 32, kAll};
constexpr double kRatingError = 1;
constexpr double kSimilarity = 1.5;    // rho_0 of the publication
constexpr double kEccentricity = 1.5;  // phi
constexpr double kDays = 30;           // d_0
constexpr double kSecondsOfADay = 86'400;

// Ratings of one target that the attacker knows.
struct KnownRatings {
  int person = 0;
  std::vector<int> items;
  std::vector<double> ratings;
  std::vector<double> days;  // of the ratings; empty where not known
};

// How well each of them is known.
struct Knowledge {
  int count = 0;               // ratings of a person, or kAll
  double error = 0;            // up to which ratings are known
  std::optional<double> days;  // up to which dates are; not set: not at all
};

// Scores of all rows, the higher the nearer.
using Scorer = std::function<Eigen::ArrayXd(const KnownRatings&)>;

struct ScoredAttack {
  std::string how;  // after "4 ratings"
  Scorer scorer = {};
  bool confident = false;  // tells whether the best stands out
  // The score of a row that has all that is known: membership is judged by the
  // best score's share of it. Null: not judged by this attack.
  std::function<double(const KnownRatings&)> full = {};
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

bool HasTimes(const RatingTable& table) {
  return !table.times.empty() && table.times.size() == table.size();
}

absl::Status WrongRatings(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "attack-mismatch",
                 sentence);
}

class RatingsJudge {
 public:
  RatingsJudge(const RatingTable& original, const RatingsAttacker& attacker,
               const AttackOptions& options)
      : original_(original),
        attacker_(attacker),
        options_(options),
        draws_(options.seed) {
    for (std::size_t person = 0; person < original.people(); ++person) {
      const auto count = static_cast<int>(original.indptr[person + 1] -
                                          original.indptr[person]);
      raters_ += count > 0 ? 1 : 0;
      most_ratings_ = std::max(most_ratings_, count);
    }
    targets_ = Raters(original);
  }

  // `dated`: what is published has times.
  absl::StatusOr<AttackReport> Run(const std::vector<ScoredAttack>& attacks,
                                   bool dated) {
    if (targets_.empty() || original_.people() < 2)
      return WrongRatings("An attack needs two people, and somebody's rating.");
    if (attacker_.outsiders != nullptr &&
        attacker_.outsiders->item_count != original_.item_count)
      return WrongRatings(
          "The outsiders' ratings must be of the same items as the original.");
    if (attacker_.days.has_value() &&
        !(*attacker_.days >= 0 && dated && HasTimes(original_)))
      return WrongRatings(
          "Dates that are known up to some days need a time (in seconds) in "
          "every line of the original's and the published ratings.");
    report_.others["people"] = {{"people", original_.people()},
                                {"items", original_.item_count},
                                {"ratings", original_.size()},
                                {"attacked", targets_.size()},
                                {"drawn_from", raters_},
                                {"attacked_are", "people who have rated"}};
    std::vector<std::optional<double>> days = {std::nullopt};
    if (attacker_.days.has_value()) days.push_back(attacker_.days);
    for (const std::optional<double>& known_days : days)
      for (const double error : {0.0, kRatingError})
        for (const int count : kKnownRatings) {
          if (count > most_ratings_) continue;  // nobody has so many
          const Knowledge knowledge = {
              .count = count, .error = error, .days = known_days};
          DPNMF_RETURN_IF_ERROR(AttackWith(
              attacks, Draw(original_, targets_, knowledge), knowledge));
        }
    for (const ScoredAttack& attack : attacks)
      if (attack.full) DPNMF_RETURN_IF_ERROR(FindMembers(attack));
    for (const Linkage& one : report_.linkage)
      report_.largest_linkage =
          std::max(report_.largest_linkage, one.linked.high);
    return std::move(report_);
  }

 private:
  // People who have rated, drawn at random if there are many.
  std::vector<int> Raters(const RatingTable& table) {
    std::vector<int> raters;
    for (std::size_t person = 0; person < table.people(); ++person)
      if (table.indptr[person + 1] > table.indptr[person])
        raters.push_back(static_cast<int>(person));
    draws_.Sample(static_cast<std::size_t>(options_.people), &raters);
    return raters;
  }

  std::vector<KnownRatings> Draw(const RatingTable& table,
                                 const std::vector<int>& people,
                                 const Knowledge& knowledge) {
    std::vector<KnownRatings> all;
    const double low = LowOf(table.scale), high = HighOf(table.scale);
    for (const int person : people) {
      const std::size_t begin = table.Begin(static_cast<std::size_t>(person));
      const std::size_t end = table.Begin(static_cast<std::size_t>(person) + 1);
      std::vector<int> places = AllOf(static_cast<Eigen::Index>(end - begin));
      draws_.Sample(knowledge.count == kAll
                        ? places.size()
                        : static_cast<std::size_t>(knowledge.count),
                    &places);
      KnownRatings known = {
          .person = person, .items = {}, .ratings = {}, .days = {}};
      for (const int place : places) {
        const std::size_t at = begin + static_cast<std::size_t>(place);
        known.items.push_back(table.items[at]);
        known.ratings.push_back(
            std::clamp(RatingOf(table.units[at]) +
                           knowledge.error * (2 * draws_.Uniform() - 1),
                       low, high));
        if (knowledge.days.has_value())
          known.days.push_back(static_cast<double>(table.times[at]) /
                                   kSecondsOfADay +
                               *knowledge.days * (2 * draws_.Uniform() - 1));
      }
      all.push_back(std::move(known));
    }
    return all;
  }

  // look(number in `known`, scores) for each of them, on several threads.
  absl::Status Score(
      const ScoredAttack& attack, const std::vector<KnownRatings>& known,
      const char* name,
      const std::function<void(std::size_t t, const Eigen::ArrayXd& scores)>&
          look) const {
    std::atomic<bool> stopped = false;
    std::atomic<std::size_t> done = 0;
    ParallelFor(known.size(), options_.threads, [&](std::size_t t, int worker) {
      if (stopped || (options_.stop && options_.stop())) {
        stopped = true;
        return;
      }
      look(t, attack.scorer(known[t]));
      ++done;
      if (worker == 0 && options_.progress)
        options_.progress(name, static_cast<double>(done) /
                                    static_cast<double>(known.size()));
    });
    if (stopped)
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "The attack was interrupted.");
    return absl::OkStatus();
  }

  absl::Status AttackWith(const std::vector<ScoredAttack>& attacks,
                          const std::vector<KnownRatings>& known,
                          const Knowledge& knowledge) {
    for (const ScoredAttack& attack : attacks) {
      std::vector<double> shares(known.size());
      std::vector<char> confident(known.size());
      DPNMF_RETURN_IF_ERROR(
          Score(attack, known, "linkage by ratings",
                [&](std::size_t t, const Eigen::ArrayXd& scores) {
                  shares[t] = OwnShare(scores, known[t].person);
                  confident[t] = attack.confident && StandsOut(scores);
                }));
      Add(attack, shares, confident, knowledge);
    }
    return absl::OkStatus();
  }

  // Judges whether a person, all of whose ratings are known, is in the table.
  absl::Status FindMembers(const ScoredAttack& attack) {
    if (attacker_.outsiders == nullptr) return absl::OkStatus();
    const std::vector<int> outsiders = Raters(*attacker_.outsiders);
    if (targets_.size() < 2 || outsiders.size() < 2) return absl::OkStatus();
    const auto scores_of = [&](const RatingTable& table,
                               const std::vector<int>& people)
        -> absl::StatusOr<std::vector<double>> {
      const std::vector<KnownRatings> known = Draw(table, people, Knowledge());
      std::vector<double> best(known.size());
      DPNMF_RETURN_IF_ERROR(
          Score(attack, known, "membership",
                [&](std::size_t t, const Eigen::ArrayXd& scores) {
                  const double full = attack.full(known[t]);
                  best[t] = full > 0 ? scores.maxCoeff() / full : 0;
                }));
      return best;
    };
    DPNMF_ASSIGN_OR_RETURN(const std::vector<double> of_members,
                           scores_of(original_, targets_));
    DPNMF_ASSIGN_OR_RETURN(const std::vector<double> of_outsiders,
                           scores_of(*attacker_.outsiders, outsiders));
    report_.membership_auc = AreaUnderCurve(of_members, of_outsiders);
    report_.membership_at_1_percent =
        FoundAtOnePercent(of_members, of_outsiders);
    return absl::OkStatus();
  }

  void Add(const ScoredAttack& attack, const std::vector<double>& shares,
           const std::vector<char>& confident, const Knowledge& knowledge) {
    const int count = knowledge.count;
    const double error = knowledge.error;
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
        attack.how, error > 0 ? " within an error" : "",
        knowledge.days.has_value()
            ? absl::StrFormat(", dated up to %g days", *knowledge.days)
            : "");
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
  const RatingsAttacker& attacker_;
  const AttackOptions& options_;
  Draws draws_;
  std::int64_t raters_ = 0;
  int most_ratings_ = 0;  // of one person
  std::vector<int> targets_;
  AttackReport report_;
};

}  // namespace

absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const Eigen::MatrixXd& completed,
                                           const AttackOptions& options,
                                           const RatingsAttacker& attacker) {
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
  const auto length = [&](const KnownRatings& known) {
    double squares = 0;
    for (std::size_t i = 0; i < known.items.size(); ++i)
      squares += std::pow(known.ratings[i] - means[known.items[i]], 2);
    return std::sqrt(squares);
  };
  return RatingsJudge(original, attacker, options)
      .Run({{.how = "", .scorer = by_distance},
            {.how = ", less the items' means",
             .scorer = by_direction,
             .full = length}},
           /*dated=*/false);
}

absl::StatusOr<AttackReport> AttackRatings(const RatingTable& original,
                                           const RatingTable& published,
                                           const AttackOptions& options,
                                           const RatingsAttacker& attacker) {
  if (published.people() != original.people() ||
      published.item_count != original.item_count)
    return WrongRatings(
        "The published ratings must be of the same people and items as the "
        "original.");
  const ByItem by_item = Transpose(published);
  const auto weight_of = [&](int item) {
    const auto at = static_cast<std::size_t>(item);
    const auto people =
        static_cast<double>(by_item.indptr[at + 1] - by_item.indptr[at]);
    return 1 / std::log(std::max(2.0, people));
  };
  const auto score = [&](const KnownRatings& known) -> Eigen::ArrayXd {
    Eigen::ArrayXd scores =
        Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(published.people()));
    for (std::size_t i = 0; i < known.items.size(); ++i) {
      const std::size_t item = static_cast<std::size_t>(known.items[i]);
      const std::int64_t begin = by_item.indptr[item];
      const std::int64_t end = by_item.indptr[item + 1];
      const double weight = weight_of(known.items[i]);
      for (std::int64_t at = begin; at < end; ++at) {
        const std::size_t place = static_cast<std::size_t>(at);
        const auto rating_at = static_cast<std::size_t>(by_item.at[place]);
        const double rating = RatingOf(published.units[rating_at]);
        double similarity =
            std::exp(-std::abs(rating - known.ratings[i]) / kSimilarity);
        if (!known.days.empty())
          similarity += std::exp(
              -std::abs(static_cast<double>(published.times[rating_at]) /
                            kSecondsOfADay -
                        known.days[i]) /
              kDays);
        scores[by_item.people[place]] += weight * similarity;
      }
    }
    return scores;
  };
  const auto all_weights = [&](const KnownRatings& known) {
    double sum = 0;
    for (const int item : known.items) sum += weight_of(item);
    return sum;
  };
  return RatingsJudge(original, attacker, options)
      .Run({{.how = "",
             .scorer = score,
             .confident = true,
             .full = all_weights}},
           HasTimes(published));
}

}  // namespace dpnmf::curator::lab
