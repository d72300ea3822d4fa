// A hostile analyst's request: parameters, W and rows of any bits.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/hostile_request.h"

namespace dpnmf::fuzz {

std::vector<std::string> FuzzSeeds() { return HostileSeeds(); }

std::vector<std::string> ExpectedOutcomes() {
  return {"accepted statistics",
          "accepted gradient",
          "accepted moments",
          "accepted mean",
          "accepted objective",
          "parameters refused",
          "refused dictionary-not-finite",
          "refused dictionary-negative",
          "refused dictionary-out-of-range",
          "refused matrix-shape",
          "refused rows-malformed"};
}

}  // namespace dpnmf::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dpnmf::fuzz::FuzzInput bytes(data, size);
  const auto problem = dpnmf::fuzz::WhatIsWrong(dpnmf::fuzz::RequestOf(&bytes));
  dpnmf::fuzz::Demand(!problem.has_value(), problem.value_or(""));
  return 0;
}
