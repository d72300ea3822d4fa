#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/ratings_bounds.h"
#include "curator/factor/ratings_sums.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

constexpr double kLargestModelEntry = 1e6;
constexpr double kLeastResidual = 1e-6, kLargestResidual = 1e6;

// Stage of the release in the plan: its lattice is that of the parts.
const StagePlan& StageNamed(const RunPlan& plan, std::string_view release) {
  for (const StagePlan& stage : plan.stages)
    if (stage.release == release) return stage;
  std::abort();
}

int BitsOf(const PartPlan& symmetric) { return -symmetric.step_exponent / 2; }

RatingsRequest RequestOf(const RoundInput& input) {
  return {.model = &input.w,
          .residual_stddev = input.numbers.empty() ? 1 : input.numbers[0]};
}

// ------------------------------------------------------------------ requests

// D x (1 + q'), 1 <= q' <= q.
absl::Status CheckModel(const RoundInput& input,
                        const RunParameters& parameters,
                        const DatasetFacts& facts) {
  const Eigen::MatrixXd& model = input.w;
  if (static_cast<std::uint64_t>(model.rows()) != facts.features ||
      model.cols() < 2 ||
      static_cast<std::uint64_t>(model.cols()) > parameters.rank + 1ULL) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "matrix-shape",
        absl::StrCat("The model must have ", facts.features, " rows and 2 to ",
                     parameters.rank + 1ULL, " columns."));
  }
  for (Eigen::Index column = 0; column < model.cols(); ++column) {
    for (Eigen::Index row = 0; row < model.rows(); ++row) {
      if (std::fabs(model(row, column)) <= kLargestModelEntry) continue;
      return Refusal(
          absl::StatusCode::kInvalidArgument, "model-out-of-range",
          absl::StrCat("Entries of the model must be from -1e6 to 1e6; the one "
                       "in row ",
                       row, " and column ", column, " is not."));
    }
  }
  const bool numbers = input.numbers.size() == 1 &&
                       input.numbers[0] >= kLeastResidual &&
                       input.numbers[0] <= kLargestResidual;
  if (numbers) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "numbers-malformed",
                 "`numbers` must be one number from 1e-6 to 1e6, the standard "
                 "deviation of residuals.");
}

absl::Status CheckTakesModel(const RoundInput& input,
                             const RunParameters& parameters,
                             const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckTakesNoRows(input));
  return CheckModel(input, parameters, facts);
}

absl::Status CheckTakesModelAndRows(const RoundInput& input,
                                    const RunParameters& parameters,
                                    const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckRows(input.rows, parameters, facts));
  return CheckModel(input, parameters, facts);
}

// Rows alone, or their weights (M x 1) and by how many parts they damp.
absl::Status CheckCoRatings(const RoundInput& input,
                            const RunParameters& parameters,
                            const DatasetFacts& facts) {
  if (input.w.size() == 0) return CheckTakesRows(input, parameters, facts);
  DPNMF_RETURN_IF_ERROR(CheckRows(input.rows, parameters, facts));
  const auto is_whole = [](double x, double most) {
    return x >= 0 && x <= most && x == std::floor(x);
  };
  bool good = input.w.cols() == 1 &&
              static_cast<std::size_t>(input.w.rows()) == input.rows.size();
  for (Eigen::Index i = 0; good && i < input.w.rows(); ++i)
    good = is_whole(input.w(i, 0), kMostRowWeight);
  if (!good) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "row-weights-malformed",
        absl::StrCat("The weights of the rows must be ", input.rows.size(),
                     " x 1, whole numbers from 0 to ", kMostRowWeight, "."));
  }
  if (input.numbers.size() == 1 && is_whole(input.numbers[0], kDampingParts))
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "numbers-malformed",
      absl::StrCat("`numbers` must be one whole number from 0 to ",
                   kDampingParts, ", the parts by which the weights damp."));
}

// ---------------------------------------------------------------------- sums

absl::StatusOr<RoundSums> SumsOfItems(const RoundInput&,
                                      const RoundContext& context) {
  const PartPlan& part = StageNamed(context.plan, "items").parts.at(0);
  DPNMF_ASSIGN_OR_RETURN(
      ItemSums items,
      ComputeItemSums(context.data, context.parameters.adjacency,
                      ItemsLatticeOf(*context.data.description().ratings,
                                     -part.step_exponent),
                      context.execution));
  RoundSums sums;
  sums.parts = {std::move(items.own_means), std::move(items.items)};
  return sums;
}

absl::StatusOr<RoundSums> SumsOfCoRatings(const RoundInput& input,
                                          const RoundContext& context) {
  const PartPlan& part = StageNamed(context.plan, "co-ratings").parts.at(0);
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      sums.parts.emplace_back(),
      ComputeCoRatings(context.data, input.rows, DampingOf(input), BitsOf(part),
                       context.execution));
  return sums;
}

absl::StatusOr<RoundSums> SumsOfProfiles(const RoundInput& input,
                                         const RoundContext& context) {
  const PartPlan& part = StageNamed(context.plan, "profiles").parts.at(0);
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      sums.parts.emplace_back(),
      ComputeProfileMoments(context.data, RequestOf(input),
                            context.parameters.rank, BitsOf(part),
                            context.execution));
  return sums;
}

absl::StatusOr<RoundSums> SumsOfResiduals(const RoundInput& input,
                                          const RoundContext& context) {
  const PartPlan& part = StageNamed(context.plan, "residuals").parts.at(0);
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      sums.parts.emplace_back(),
      ComputeResidualMoments(context.data, RequestOf(input), input.rows,
                             BitsOf(part), context.execution));
  return sums;
}

// Columns of a request's profile that corrections are made for: the constant
// and the first directions after the bias, as many as planned and as there are.
std::uint64_t DirectionsOf(const RoundInput& input, const PartPlan& planned) {
  return std::min<std::uint64_t>(
      planned.columns, static_cast<std::uint64_t>(input.w.cols()) - 1);
}

absl::StatusOr<RoundSums> SumsOfCorrections(const RoundInput& input,
                                            const RoundContext& context) {
  const std::vector<PartPlan>& parts =
      StageNamed(context.plan, "corrections").parts;
  const int g_bits = BitsOf(parts.at(1));
  DPNMF_ASSIGN_OR_RETURN(
      CorrectionSums corrections,
      ComputeCorrections(
          context.data, RequestOf(input),
          static_cast<std::uint32_t>(DirectionsOf(input, parts[0]) - 1),
          -parts[0].step_exponent - g_bits, g_bits, context.execution));
  RoundSums sums;
  sums.parts = {std::move(corrections.b), std::move(corrections.a)};
  return sums;
}

// ------------------------------------ what a request has less than planned

void NarrowToRows(const RoundInput& input, std::vector<PartPlan>* parts) {
  parts->at(0).rows = parts->at(0).columns = input.rows.size();
}

void NarrowToProfile(const RoundInput& input, std::vector<PartPlan>* parts) {
  parts->at(0).rows = parts->at(0).columns =
      static_cast<std::uint64_t>(input.w.cols()) - 1;
}

void NarrowToDirections(const RoundInput& input, std::vector<PartPlan>* parts) {
  const std::uint64_t columns = DirectionsOf(input, parts->at(0));
  parts->at(0).columns = columns;
  parts->at(1).rows = parts->at(1).columns = columns;
}

// -------------------------------------------------------------------- memory

RoundMemory MemoryWith(const DatasetDescription& data, std::uint64_t rank,
                       std::uint64_t entries, int threads) {
  // The model is counted as D x rank elsewhere; this is its first column.
  const Uint128 column = Uint128{16} * data.features;
  return {.computing =
              column + RatingsBytes({.features = data.features,
                                     .rank = rank,
                                     .entries = entries,
                                     .users = LargestUserCount(FactsOf(data)),
                                     .threads = threads})};
}

RoundMemory MemoryOfItems(const RunParameters&, const DatasetDescription& data,
                          int threads) {
  return MemoryWith(data, 0, 2 * data.features + 2, threads);
}

RoundMemory MemoryOfCoRatings(const RunParameters& parameters,
                              const DatasetDescription& data, int threads) {
  const std::uint64_t rows = parameters.moment_rows;
  // Damping adds a sum for each row, and one more.
  return MemoryWith(data, 0, rows * (rows + 1) / 2 + rows + 1, threads);
}

RoundMemory MemoryOfProfiles(const RunParameters& parameters,
                             const DatasetDescription& data, int threads) {
  const std::uint64_t rank = parameters.rank;
  return MemoryWith(data, rank, rank * (rank + 1) / 2, threads);
}

RoundMemory MemoryOfResiduals(const RunParameters& parameters,
                              const DatasetDescription& data, int threads) {
  const std::uint64_t rows = parameters.moment_rows;
  return MemoryWith(data, parameters.rank, rows * (rows + 1) / 2, threads);
}

RoundMemory MemoryOfCorrections(const RunParameters& parameters,
                                const DatasetDescription& data, int threads) {
  const std::uint64_t columns = parameters.profile_directions + 1ULL;
  return MemoryWith(data, parameters.rank, columns * (data.features + columns),
                    threads);
}

constexpr ReleaseKind kReleases[] = {{.name = "items",
                                      .check = CheckTakesNothing,
                                      .sums = SumsOfItems,
                                      .publish = PublishAll,
                                      .memory = MemoryOfItems},
                                     {.name = "co-ratings",
                                      .check = CheckCoRatings,
                                      .sums = SumsOfCoRatings,
                                      .publish = PublishAll,
                                      .memory = MemoryOfCoRatings,
                                      .narrow = NarrowToRows},
                                     {.name = "profiles",
                                      .check = CheckTakesModel,
                                      .sums = SumsOfProfiles,
                                      .publish = PublishAll,
                                      .memory = MemoryOfProfiles,
                                      .narrow = NarrowToProfile},
                                     {.name = "residuals",
                                      .check = CheckTakesModelAndRows,
                                      .sums = SumsOfResiduals,
                                      .publish = PublishAll,
                                      .memory = MemoryOfResiduals,
                                      .narrow = NarrowToRows},
                                     {.name = "corrections",
                                      .check = CheckTakesModel,
                                      .sums = SumsOfCorrections,
                                      .publish = PublishAll,
                                      .memory = MemoryOfCorrections,
                                      .narrow = NarrowToDirections}};

}  // namespace

extern const Mechanism kRatingsMechanism = {"ratings", kReleases};

}  // namespace dpnmf::curator
