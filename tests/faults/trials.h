// How many trials a test makes, and from which seed.
#ifndef DPNMF_TESTS_FAULTS_TRIALS_H_
#define DPNMF_TESTS_FAULTS_TRIALS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace dpnmf::faults {

// DPNMF_FAULT_TRIALS, else `usual`.
inline std::uint64_t TrialsOr(std::uint64_t usual) {
  const char* const text = std::getenv("DPNMF_FAULT_TRIALS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

// DPNMF_FAULT_SEED, else the system's; printed. Trial i has seed + i.
inline std::uint64_t TrialSeed(const char* test) {
  const char* const text = std::getenv("DPNMF_FAULT_SEED");
  const std::uint64_t seed = text != nullptr
                                 ? std::strtoull(text, nullptr, 10)
                                 : std::random_device()() * 1'000'003ull;
  std::printf("%s: DPNMF_FAULT_SEED=%llu\n", test,
              static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_TRIALS_H_
