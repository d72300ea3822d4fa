#include "common/learning/mechanism_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/view.h"
#include "common/moments/moments.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

// Below this edge of the noise of one second moment, a fraction of the largest
// trace, the first release knows nearly all, and what a second one cuts off
// people costs more than its noise wins.
constexpr double kEnoughForOne = 0.002;
// From this edge on either may be the better one, and public facts do not tell
// which (docs/research/utility.md, "Few people").
constexpr double kEither = 0.2;

MechanismChoice Statistics(std::string_view because) {
  return {std::string(kStatisticsMechanism.name),
          absl::StrCat("Rounds of A and B, since ", View(because),
                       ". Without that, second moments would give a better "
                       "dictionary for the same epsilon.")};
}

MechanismChoice Moments(std::string_view because) {
  return {std::string(kMomentsMechanism.name),
          absl::StrCat("One noised second moment, since ", View(because), ".")};
}

}  // namespace

MechanismChoice ChooseMechanism(const ChoiceFacts& facts) {
  if (facts.has_outliers)
    return Statistics("sparse outliers are to be split off");
  if (facts.has_rounds) return Statistics("a number of rounds is asked for");
  if (facts.has_public_start)
    return Statistics("a public first dictionary is given");
  if (facts.holds_sums)
    return Moments("the data set contains sums over people, and no people");
  if (facts.is_summed) {
    return Moments(
        "the releases of such a data set can be added to others, but those of "
        "aimed cannot");
  }
  if (facts.names_rows) return Moments("the rows are named");
  if (facts.has_priors) {
    return Moments(
        "a fit with public knowledge was measured with one, and hardly needs "
        "more");
  }
  if (!(facts.users >= 1 && facts.features >= 1 && facts.mu_squared > 0))
    return Moments("nothing else follows from the numbers given");
  const double rows = std::min<double>(facts.features, kMostMomentRows);
  // Edge of the noise, as in PredictMoments.
  const double edge =
      2 * std::sqrt(rows) / (facts.users * std::sqrt(facts.mu_squared));
  MechanismChoice choice;
  if (edge < kEnoughForOne) {
    choice = Moments(
        "for so many people and this epsilon its noise is so small that a "
        "second release gains nothing");
  } else if (edge > kEither) {
    choice = {std::string(kAimedMechanism.name),
              "Two noised second moments; the first determines the directions "
              "that the second measures more exactly. For so few people and "
              "this epsilon, one second moment (moments) may be better or "
              "worse by up to a seventh."};
  } else {
    choice = {
        std::string(kAimedMechanism.name),
        "Two noised second moments; the first determines the directions that "
        "the second measures more exactly. For this number of people and "
        "features and this epsilon, this was the best choice, or nearly the "
        "best, on pictures, counts, text, ratings and generated people."};
  }
  if (rows < facts.features) {
    absl::StrAppend(&choice.reason, " There are more than ", kMostMomentRows,
                    " features: a noised mean comes first and chooses the rows "
                    "of the second moments; the other rows of W follow the "
                    "mean.");
  }
  return choice;
}

}  // namespace dpnmf
