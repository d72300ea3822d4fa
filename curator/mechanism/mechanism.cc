#include "curator/mechanism/mechanism.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/privacy/mechanism.h"

namespace dpnmf::curator {

#define DPNMF_MECHANISM(Name) extern const Mechanism k##Name##Mechanism;
#include "mechanism_names.inc"
#undef DPNMF_MECHANISM

const NameTable<Mechanism>& Mechanisms() {
#define DPNMF_MECHANISM(Name) &k##Name##Mechanism,
  static auto& table = *new NameTable<Mechanism>({
#include "mechanism_names.inc"
  });
#undef DPNMF_MECHANISM
  return table;
}

namespace {

[[noreturn]] void Stop(const char* what, std::string_view release) {
  std::fprintf(stderr, "%s %s\n", what, std::string(release).c_str());
  std::abort();
}

}  // namespace

const ReleaseKind& ReleaseKindOf(std::string_view release) {
  const ReleaseKind* found = nullptr;
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    for (const ReleaseKind& kind : mechanism->releases) {
      if (kind.name != release) continue;
      if (found != nullptr) Stop("two releases are named", release);
      found = &kind;
    }
  }
  if (found == nullptr) Stop("the curator has no release named", release);
  return *found;
}

absl::Status CheckDataHoldsRun(const DatasetDescription& data,
                               const RunParameters& parameters,
                               const RunPlan& plan) {
  if (!data.sums.has_value()) return absl::OkStatus();
  return CheckSumsHoldRun(*data.sums, data.features, parameters, plan);
}

absl::Status CheckDataHoldsRound(const DatasetDescription& data,
                                 std::string_view release,
                                 const RoundInput& input) {
  if (!data.sums.has_value() || release != kReleaseOfMoments)
    return absl::OkStatus();
  return CheckSumsHoldRows(*data.sums, data.features, input.rows);
}

absl::Status CheckTakesNoRows(const RoundInput& input) {
  if (input.rows.empty()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "rows-malformed",
                 "This round takes no `rows`.");
}

absl::Status CheckTakesNoNumbers(const RoundInput& input) {
  if (input.numbers.empty()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "numbers-malformed",
                 "This round takes no `numbers`.");
}

absl::Status CheckRows(std::span<const std::uint32_t> rows,
                       const RunParameters& parameters,
                       const DatasetFacts& facts) {
  bool good = !rows.empty() && rows.size() <= parameters.moment_rows;
  for (std::size_t i = 0; i < rows.size() && good; ++i)
    good = rows[i] < facts.features && (i == 0 || rows[i - 1] < rows[i]);
  if (good) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "rows-malformed",
      absl::StrCat("`rows` must be 1 to ", parameters.moment_rows,
                   " different rows below ", facts.features, ", ascending."));
}

absl::Status CheckTakesDictionary(const RoundInput& input,
                                  const RunParameters& parameters,
                                  const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckTakesNoRows(input));
  DPNMF_RETURN_IF_ERROR(CheckTakesNoNumbers(input));
  if (static_cast<std::uint64_t>(input.w.rows()) != facts.features ||
      static_cast<std::uint64_t>(input.w.cols()) != parameters.rank) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   absl::StrCat("The dictionary must be ", facts.features,
                                " x ", parameters.rank, "."));
  }
  return CheckDictionary(input.w);
}

absl::Status CheckTakesNothing(const RoundInput& input, const RunParameters&,
                               const DatasetFacts&) {
  if (input.w.size() != 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   "This round takes no dictionary.");
  }
  DPNMF_RETURN_IF_ERROR(CheckTakesNoNumbers(input));
  return CheckTakesNoRows(input);
}

absl::Status CheckTakesRows(const RoundInput& input,
                            const RunParameters& parameters,
                            const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckRows(input.rows, parameters, facts));
  DPNMF_RETURN_IF_ERROR(CheckTakesNoNumbers(input));
  return CheckTakesNothing(input.w, parameters, facts);
}

StatisticsRequest StatisticsRequestOf(const RoundInput& input,
                                      const RoundContext& context) {
  const RunParameters& parameters = context.parameters;
  StatisticsRequest request;
  request.w = &input.w;
  request.outliers = parameters.outliers;
  request.lambda = parameters.lambda;
  request.outlier_bound = parameters.outlier_bound;
  request.inner_iterations = static_cast<int>(parameters.inner_iterations);
  request.coefficient_bound = context.plan.coefficient_bound;
  request.data_bound = context.plan.data_bound;
  request.coefficient_bits = context.plan.coefficient_bits;
  request.data_bits = context.plan.data_bits;
  return request;
}

RoundMemory MemoryOfHStep(const RunParameters& parameters,
                          const DatasetDescription& data, bool outliers,
                          bool objective, int threads) {
  const std::uint64_t users = LargestUserCount(FactsOf(data));
  return {.coefficients = Uint128{8} * parameters.rank * users,
          .computing = StatisticsBytes({.features = data.features,
                                        .rank = parameters.rank,
                                        .users = users,
                                        .sparse = data.sparse,
                                        .outliers = outliers,
                                        .objective = objective,
                                        .threads = threads})};
}

RoundMemory MemoryOfStatistics(const RunParameters& parameters,
                               const DatasetDescription& data, int threads) {
  return MemoryOfHStep(parameters, data, parameters.outliers,
                       /*objective=*/false, threads);
}

PostProcess PublishAll(const RoundInput&) {
  return [](std::vector<NoisedMatrix> noised) { return noised; };
}

}  // namespace dpnmf::curator
