// Stops the process where going on would weaken the noise.
#ifndef DPNMF_CURATOR_NOISE_NOISE_FATAL_H_
#define DPNMF_CURATOR_NOISE_NOISE_FATAL_H_

#include <cstdio>
#include <cstdlib>

namespace dpnmf::curator {

// Prints the sentence and aborts, unless `condition` holds. The sentence must
// not depend on private data or on the noise.
inline void MustHold(bool condition, const char* sentence) {
  if (condition) [[likely]]
    return;
  std::fprintf(stderr, "%s\n", sentence);
  std::abort();
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_NOISE_NOISE_FATAL_H_
