#include "curator/factor/moments.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

// Sums stored by a data set without columns: `count` of them, from `first` on.
// CheckDataHoldsRun let no other run begin.
absl::StatusOr<RoundSums> PartOfStoredSums(const RoundContext& context,
                                           std::uint64_t first,
                                           std::uint64_t count) {
  const std::span<const std::int64_t> stored = context.data.stored_sums();
  const std::optional<StoredSums>& held = context.data.description().sums;
  if (!held.has_value() || held->bits != context.plan.data_bits ||
      context.parameters.moment_rows !=
          MomentRowsOf(*held, context.data.features()) ||
      stored.size() < first + count) {
    return Refusal(absl::StatusCode::kInternal, "sums-malformed",
                   "The stored sums do not fit the run's plan; this is a fault "
                   "of the curator, and nothing was charged.");
  }
  RoundSums sums;
  const auto part = stored.subspan(first, count);
  sums.parts.emplace_back(part.begin(), part.end());
  return sums;
}

absl::StatusOr<RoundSums> SumsOfMean(const RoundInput&,
                                     const RoundContext& context) {
  if (!context.data.stored_sums().empty())
    return PartOfStoredSums(context, 0, context.data.features());
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<std::int64_t> mean,
      ComputeMean(context.data, context.plan.data_bound, context.plan.data_bits,
                  context.execution));
  sums.parts.push_back(std::move(mean));
  return sums;
}

// 1 to M rows, ascending, below D; none if M = D.
absl::Status CheckSelection(const RoundInput& input,
                            const RunParameters& parameters,
                            const DatasetFacts& facts) {
  if (parameters.moment_rows == facts.features)
    return CheckTakesNothing(input, parameters, facts);
  return CheckTakesRows(input, parameters, facts);
}

absl::StatusOr<RoundSums> SumsOfMoments(const RoundInput& input,
                                        const RoundContext& context) {
  if (!context.data.stored_sums().empty()) {
    DPNMF_RETURN_IF_ERROR(CheckDataHoldsRound(context.data.description(),
                                              kReleaseOfMoments, input));
    const std::uint64_t rows = context.parameters.moment_rows;
    return PartOfStoredSums(context, context.data.features(),
                            rows * (rows + 1) / 2);
  }
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<std::int64_t> moments,
      ComputeMoments(context.data, input.rows, context.plan.data_bound,
                     context.plan.data_bits, context.execution));
  sums.parts.push_back(std::move(moments));
  return sums;
}

RoundMemory MemoryOfMean(const RunParameters&, const DatasetDescription& data,
                         int threads) {
  return {.computing = MeanBytes(data.features, LargestUserCount(FactsOf(data)),
                                 threads)};
}

// Memory as if all M rows were asked for: the memory does not depend on which
// rows a request names, or on how many.
RoundMemory MemoryOfMoments(const RunParameters& parameters,
                            const DatasetDescription& data, int threads) {
  return {.computing = MomentsBytes(parameters.moment_rows, data.features,
                                    LargestUserCount(FactsOf(data)), threads)};
}

// Fewer rows may be asked for than planned: the noise and the price of a second
// moment do not depend on their number.
void NarrowToRows(const RoundInput& input, std::vector<PartPlan>* parts) {
  if (!input.rows.empty())
    parts->at(0).rows = parts->at(0).columns = input.rows.size();
}

constexpr ReleaseKind kReleases[] = {{.name = "mean",
                                      .check = CheckTakesNothing,
                                      .sums = SumsOfMean,
                                      .publish = PublishAll,
                                      .memory = MemoryOfMean,
                                      .by_ranges = true},
                                     {.name = "moments",
                                      .check = CheckSelection,
                                      .sums = SumsOfMoments,
                                      .publish = PublishAll,
                                      .memory = MemoryOfMoments,
                                      .narrow = NarrowToRows,
                                      .by_ranges = true}};

}  // namespace

extern const Mechanism kMomentsMechanism = {"moments", kReleases};

}  // namespace dpnmf::curator
