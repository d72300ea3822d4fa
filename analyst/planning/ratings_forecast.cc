#include "analyst/planning/ratings_forecast.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/privacy/ratings_bounds.h"

namespace dpnmf {
namespace {

// Ratings of a typical person: the true number differs between data sets and is
// private.
constexpr double kRatingsOfAPerson = 100;

std::string TwoDigits(double value) {
  return value < 100 ? absl::StrFormat("%.2g", value)
                     : absl::StrFormat("%.0f", value);
}

struct Noise {
  double people = 0;  // in the count of an item
  double rating = 0;  // in the mean rating of an item that many rated
};

// Warns of noise that makes a run hardly worth its price; else empty.
std::string WhatIsLost(const Noise& noise, const RatingsBounds& bounds,
                       const DatasetFacts& facts) {
  if (noise.people > static_cast<double>(facts.users)) {
    return " The noise in counts is larger than the number of people: lists by "
           "relevance are hardly better than chance, and predictions are "
           "little more than people's own means. Choose a larger epsilon.";
  }
  if (noise.rating > bounds.tau) {
    return " That is more than half of the range: predictions are little more "
           "than people's own means. Choose a larger epsilon if they matter.";
  }
  return "";
}

}  // namespace

// Column 0 of `items` has a w for each person who rated the item, column 1 the
// rating about the own mean times w; both have the noise sigma. So the noise is
// that of sigma / (a w) people, and moves the mean rating of an item that n
// people rated by sigma / (n w), over what clipping leaves of a rating if
// ratings spread over a quarter of the range.
std::string ForecastSentence(const RunPlan& plan, const DatasetFacts& facts) {
  const PartPlan* items = nullptr;
  for (const StagePlan& stage : plan.stages) {
    for (const PartPlan& part : stage.parts)
      if (part.name == "items") items = &part;
  }
  if (items == nullptr) return "";
  const double stddev = std::ldexp(static_cast<double>(items->stddev_steps),
                                   items->step_exponent);
  const RatingsBounds bounds = RatingsBoundsOf(*facts.ratings, facts.adjacency);
  const double people = std::ceil(static_cast<double>(facts.users) / 10);
  if (facts.adjacency == Adjacency::kOneRating) {
    const Noise noise = {stddev / bounds.a, stddev / people};
    return absl::StrFormat(
               "The noise in the count of an item is that of %s ratings. If "
               "%.0f people rated an item, the noise moves its mean rating by "
               "about %s.",
               TwoDigits(noise.people), people, TwoDigits(noise.rating)) +
           WhatIsLost(noise, bounds, facts);
  }
  const double weight = 1 / std::sqrt(kRatingsOfAPerson);
  const double spread = bounds.tau / 2;
  const double seen = ClippedOf(bounds, facts.adjacency, spread * spread).part;
  const Noise noise = {stddev / (bounds.a * weight),
                       stddev / (people * weight * seen)};
  return absl::StrFormat(
             "The noise in the count of an item is that of %s people with %.0f "
             "ratings each. If %.0f such people rated an item, the noise moves "
             "its mean rating by about %s.",
             TwoDigits(noise.people), kRatingsOfAPerson, people,
             TwoDigits(noise.rating)) +
         WhatIsLost(noise, bounds, facts);
}

}  // namespace dpnmf
