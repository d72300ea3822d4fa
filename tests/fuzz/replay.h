// What a replay does unless its command line says otherwise.
#ifndef DPNMF_TESTS_FUZZ_REPLAY_H_
#define DPNMF_TESTS_FUZZ_REPLAY_H_

namespace dpnmf::fuzz {

struct ReplayDefaults {
  unsigned long runs;  // mutations
  const char* corpus;  // a directory, which need not be there
};
// Each target's own: CMakeLists.txt writes it.
extern const ReplayDefaults kReplayDefaults;

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_REPLAY_H_
