// libFuzzer's entry to the one target of its program.
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  dpnmf::fuzz::Targets().front().run_one(data, size);
  return 0;
}
