// Counts of the outcomes of the targets in this process.
#ifndef DPNMF_TESTS_FUZZ_OUTCOMES_H_
#define DPNMF_TESTS_FUZZ_OUTCOMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace dpnmf::fuzz {

std::map<std::string, std::uint64_t, std::less<>>& Outcomes();

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_OUTCOMES_H_
