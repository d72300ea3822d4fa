// A data set's description has a message; its columns have none.
#include "curator/serve/wire.h"

namespace dpnmf::curator {

void Describe(const Dataset& dataset, const PopulationPolicy& policy) {
  static_cast<void>(DescriptionOf(dataset, policy, Position()));
#ifdef MUST_NOT_COMPILE
  v1::RealChunk chunk;
  chunk.mutable_values()->Add(dataset.DenseColumn(0));
#else
  v1::RealChunk chunk;
  chunk.mutable_values()->Add(1.0);
#endif
}

}  // namespace dpnmf::curator
