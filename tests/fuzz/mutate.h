// Deterministic mutations: the same on every machine for the same seed.
#ifndef DPNMF_TESTS_FUZZ_MUTATE_H_
#define DPNMF_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dpnmf::fuzz {

// One of the seeds with one to four changes: a bit or byte changed, bytes
// inserted, erased, repeated or cut off, a telling byte, a special double, a
// whole number at its limit, or a piece of another seed. At most 4 KiB longer
// than the longest seed.
std::string Mutated(const std::vector<std::string>& seeds,
                    std::mt19937_64* random);

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_MUTATE_H_
