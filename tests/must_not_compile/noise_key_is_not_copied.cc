// A noise key is used once: it moves and is never copied.
#include <utility>

#include "curator/noise/noise.h"

namespace dpnmf::curator {

NoiseKey Pass(NoiseKey key) {
#ifdef MUST_NOT_COMPILE
  NoiseKey copy(key);
  return copy;
#else
  return key;
#endif
}

}  // namespace dpnmf::curator
