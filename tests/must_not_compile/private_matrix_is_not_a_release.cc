// Only the release gate makes a Released value.
#include "curator/gate/release_gate.h"

namespace dpnmf::curator {

const ReleasedRound& Open(const Released<ReleasedRound>& released) {
#ifdef MUST_NOT_COMPILE
  static Released<ReleasedRound> forged{ReleasedRound{}};
  return forged.value();
#else
  return released.value();
#endif
}

}  // namespace dpnmf::curator
