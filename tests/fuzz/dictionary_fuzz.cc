// A hostile analyst's request: parameters, W and rows of any bits.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/hostile_request.h"

namespace dpnmf::fuzz::dictionary {
namespace {

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

void RunOne(const std::uint8_t* data, std::size_t size) {
  FuzzInput bytes(data, size);
  const auto problem = WhatIsWrong(RequestOf(&bytes));
  Demand(!problem.has_value(), problem.value_or(""));
}

[[maybe_unused]] const bool kRegistered =
    Register({"dictionary", 20'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::dictionary
