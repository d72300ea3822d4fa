// Exact sums cannot be written to the wire; a released round can.
#include "curator/serve/wire.h"

namespace dpnmf::curator {

bool Send(const Released<ReleasedRound>& released, const ExactSums& sums) {
  const auto write = [](const v1::TrainReply&) { return true; };
  static_cast<void>(sums);
#ifdef MUST_NOT_COMPILE
  return WriteRelease(sums, {}, {}, write);
#else
  return WriteRelease(released, {}, {}, write);
#endif
}

}  // namespace dpnmf::curator
