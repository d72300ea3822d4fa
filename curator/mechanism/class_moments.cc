#include "curator/factor/class_moments.h"

#include "common/base/error.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<RoundSums> SumsOfClasses(const RoundInput&,
                                        const RoundContext& context) {
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<std::int64_t> blocks,
      ComputeClassMoments(context.data, context.plan.data_bits,
                          context.execution));
  sums.parts.push_back(std::move(blocks));
  return sums;
}

RoundMemory MemoryOfClasses(const RunParameters&,
                            const DatasetDescription& data, int threads) {
  return {.computing = ClassMomentsBytes(
              data.features,
              data.classes.has_value() ? data.classes->names.size() : 0,
              LargestUserCount(FactsOf(data)), threads)};
}

constexpr ReleaseKind kReleases[] = {{.name = "class moments",
                                      .check = CheckTakesNothing,
                                      .sums = SumsOfClasses,
                                      .publish = PublishAll,
                                      .memory = MemoryOfClasses}};

}  // namespace

extern const Mechanism kClassMomentsMechanism = {"class_moments", kReleases};

}  // namespace dpnmf::curator
