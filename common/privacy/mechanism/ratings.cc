// "ratings": what is missing is not 0. Up to five kinds of rounds, in this
// order; `shares` gives each its part of the cost, and a kind without a share
// is left out:
//
// * items: (x, y) of own mean and variance; by item the sums of w m and of w t
// * co-ratings: the sum of m m' / n on M items
// * profiles: the sum of h h' + posterior covariance; all rounds that are left
// * residuals: the sum of z z' on M items
// * corrections: the sums of z h' and of h h'
//
// Sensitivities: docs/reference/privacy.md, "Ratings"; bounds: common/privacy/
// ratings_bounds.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/ratings_bounds.h"

namespace dpnmf {
namespace {

enum Release { kItems, kCoRatings, kProfiles, kResiduals, kCorrections };
constexpr std::size_t kReleases = 5;

bool Has(const RunParameters& parameters, Release release) {
  return parameters.shares.size() == kReleases &&
         parameters.shares[release] > 0;
}

// Rounds of everything but profiles.
std::uint32_t SingleRounds(const RunParameters& parameters) {
  std::uint32_t rounds = 0;
  for (const Release release : {kItems, kCoRatings, kResiduals, kCorrections}) {
    rounds += Has(parameters, release) ? 1 : 0;
  }
  return rounds;
}

RoundsRange Rounds(const RunParameters& parameters, const DatasetFacts&) {
  const std::uint32_t single = SingleRounds(parameters);
  if (!Has(parameters, kProfiles)) return {.least = single, .most = single};
  return {.least = single + 1};
}

bool NamesRows(const RunParameters& parameters) {
  return Has(parameters, kCoRatings) || Has(parameters, kResiduals);
}

// Decimals that add up to 1 are cut to at most 1.
bool AreShares(const RunParameters& parameters) {
  constexpr Uint128 kWhole = Uint128{1} << 48;  // as ShareOf cuts
  const std::vector<double>& shares = parameters.shares;
  bool good = shares.size() == kReleases && shares[kItems] > 0;
  Uint128 sum = 0;
  for (std::size_t i = 0; i < shares.size() && good; ++i) {
    good = shares[i] >= 0 && shares[i] <= 1;
    if (good) sum += static_cast<Uint128>(std::ldexp(shares[i], 48));
  }
  return good && sum <= kWhole;
}

absl::Status Check(const RunParameters& parameters, const DatasetFacts& facts) {
  if (NamesRows(parameters))
    DPNMF_RETURN_IF_ERROR(CheckMomentRows(parameters, facts));
  if (Has(parameters, kCorrections) &&
      parameters.profile_directions >= parameters.rank) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "profile-directions-out-of-range",
        absl::StrFormat("`profile_directions` must be below `rank`, "
                        "which is %d, not %d.",
                        parameters.rank, parameters.profile_directions));
  }
  return absl::OkStatus();
}

// Theorem 11.
PartDraft OwnMeans(const ItemsLattice& lattice, MuSquared allowance,
                   Adjacency adjacency) {
  return {.part = {.name = "mean",
                   .rows = 2,
                   .columns = 1,
                   .step_exponent = -lattice.bits,
                   .left_norm_steps = OwnMeansSensitivity(lattice, adjacency),
                   .right_norm_steps = 1,
                   .whole_sensitivity = true},
          .allowance = allowance,
          .largest_entry = static_cast<Uint128>(lattice.most)};
}

// Theorem 12.
PartDraft Items(const ItemsLattice& lattice, MuSquared allowance,
                Adjacency adjacency, std::uint64_t features) {
  return {.part = {.name = "items",
                   .rows = features,
                   .columns = 2,
                   .step_exponent = -lattice.bits,
                   .left_norm_steps =
                       ItemsSensitivity(lattice, adjacency, features),
                   .right_norm_steps = 1,
                   .whole_sensitivity = true},
          .allowance = allowance,
          // k <= 2^bits a, under one_rating its own; |l_i| <= 2^bits tau.
          .largest_entry = static_cast<Uint128>(std::max(
              {lattice.most, lattice.largest_rating, lattice.mask_step}))};
}

// A sum of positive semidefinite matrices of length at most `norm`: theorem
// 13.
PartDraft Semidefinite(std::string name, std::uint64_t rows, int bits,
                       std::uint64_t norm, MuSquared allowance) {
  return {.part = {.name = std::move(name),
                   .rows = rows,
                   .columns = rows,
                   .symmetric = true,
                   .step_exponent = -2 * bits,
                   .left_norm_steps = norm,
                   .right_norm_steps = norm},
          .allowance = allowance,
          .largest_entry = norm};
}

// A sum of z g' with signs, |z|^2 <= z_norm and |g|^2 <= g_norm: theorem
// 14. Replacing a person moves it by twice what one adds.
PartDraft SignedProducts(std::uint64_t rows, std::uint64_t columns, int z_bits,
                         int g_bits, std::uint64_t z_norm, std::uint64_t g_norm,
                         MuSquared allowance, Adjacency adjacency) {
  const std::uint64_t neighbours =
      adjacency == Adjacency::kAddRemoveOne ? 1 : 4;
  return {.part = {.name = "B",
                   .rows = rows,
                   .columns = columns,
                   .step_exponent = -(z_bits + g_bits),
                   .left_norm_steps = neighbours * z_norm,
                   .right_norm_steps = g_norm,
                   .whole_sensitivity = true},
          .allowance = allowance,
          .largest_entry = std::max(z_norm, g_norm)};
}

// 2^entry_bits is about the largest entry of every quantised vector.
std::vector<StageDraft> StagesWith(MuSquared whole, int entry_bits,
                                   const RunParameters& parameters,
                                   const DatasetFacts& facts) {
  const Adjacency adjacency = parameters.adjacency;
  const RatingScale& scale = *facts.ratings;
  const RatingsBounds bounds = RatingsBoundsOf(scale, adjacency);
  const std::uint64_t features = facts.features, rows = parameters.moment_rows;
  const auto of = [&](Release release) {
    return ShareOf(whole, parameters.shares[release]);
  };
  const int z_bits = BitsFor(bounds.c_z, entry_bits), g_bits = entry_bits;
  std::vector<StageDraft> stages;

  const ItemsLattice lattice =
      ItemsLatticeOf(scale, BitsFor(bounds.tau, entry_bits));
  const MuSquared means = ShareOf(of(kItems), kShareOfOwnMeans);
  stages.push_back({.release = "items",
                    .rounds = 1,
                    .parts = {OwnMeans(lattice, means, adjacency),
                              Items(lattice, Less(of(kItems), means), adjacency,
                                    features)}});
  if (Has(parameters, kCoRatings)) {
    stages.push_back({.release = "co-ratings",
                      .rounds = 1,
                      .parts = {Semidefinite("C", rows, entry_bits,
                                             NormBoundSteps(1, entry_bits),
                                             of(kCoRatings))}});
  }
  if (Has(parameters, kProfiles)) {
    const std::uint32_t rounds = parameters.rounds - SingleRounds(parameters);
    const int bits =
        BitsFor(std::sqrt(ProfileMomentBound(parameters.rank)), entry_bits);
    stages.push_back(
        {.release = "profiles",
         .rounds = rounds,
         .parts = {Semidefinite("P", parameters.rank, bits,
                                ProfileMomentNorm(parameters.rank, bits),
                                MuSquared::Divide(of(kProfiles), rounds))}});
  }
  if (Has(parameters, kResiduals)) {
    stages.push_back(
        {.release = "residuals",
         .rounds = 1,
         .parts = {Semidefinite("S", rows, z_bits, ResidualNorm(scale, z_bits),
                                of(kResiduals))}});
  }
  if (Has(parameters, kCorrections)) {
    const std::uint64_t directions = parameters.profile_directions + 1;
    const MuSquared a = ShareOf(of(kCorrections), kShareOfProfileMoment);
    stages.push_back(
        {.release = "corrections",
         .rounds = 1,
         .parts = {
             SignedProducts(features, directions, z_bits, g_bits,
                            ResidualNorm(scale, z_bits), ProfileNorm(g_bits),
                            Less(of(kCorrections), a), adjacency),
             Semidefinite("A", directions, g_bits, ProfileNorm(g_bits), a)}});
  }
  return stages;
}

std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  return StagesWith(whole, bits + std::ilogb(facts.column_bound), parameters,
                    facts);
}

bool Uses(std::string_view field, const RunParameters& parameters,
          const DatasetFacts&) {
  if (IsOneOf(field, {"rounds", "shares", "non_negative"})) return true;
  if (field == "moment_rows")
    return parameters.shares.empty() || NamesRows(parameters);
  return field == "profile_directions" &&
         (parameters.shares.empty() || Has(parameters, kCorrections));
}

// "items 0.3, co-ratings 0.6, profiles 0.1".
std::string SharesText(const RunParameters& parameters) {
  constexpr const char* kNames[kReleases] = {"items", "co-ratings", "profiles",
                                             "residuals", "corrections"};
  std::string text;
  for (std::size_t i = 0; i < std::min(parameters.shares.size(), kReleases);
       ++i) {
    if (parameters.shares[i] != 0) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", kNames[i], " ",
                      FormatNumber(parameters.shares[i]));
    }
  }
  return text;
}

std::string DirectionsText(const RunParameters& parameters) {
  return absl::StrCat(parameters.profile_directions, " directions");
}

constexpr Knob kKnobs[] = {
    {{"shares", 17, &RunParameters::shares},
     {.text = "5 numbers from 0 to 1 that add up to at most 1, the first above "
              "0: items, co-ratings, profiles, residuals, corrections",
      .code = "share-out-of-range",
      .is_good = AreShares},
     {"--shares", "X,X,X,X,X",
      "Only for ratings: shares of the run's cost for items, co-ratings, "
      "profiles, residuals and corrections; 0 leaves a release out [by the "
      "data set's size]"},
     {"shares of the cost", SharesText}},
    // 0 is good without corrections; the text is that of the flag.
    {{"profile_directions", 18, &RunParameters::profile_directions},
     {.text = "1 or more", .code = "profile-directions-out-of-range"},
     {"--profile-directions", "R",
      "Only for ratings: number of directions of profiles for which "
      "corrections are released [by the data set's size]"},
     {"corrections for", DirectionsText}}};

}  // namespace

extern const Mechanism kRatingsMechanism = {
    .name = "ratings",
    .summary = "a recommender, of data sets of ratings",
    .for_ratings = true,
    .rounds = Rounds,
    .check = Check,
    .stages = Stages,
    .uses = Uses,
    .knobs = kKnobs,
};

}  // namespace dpnmf
