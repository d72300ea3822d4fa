// A process that dies at a failpoint of the ledger or of what uses it.
#ifndef DPNMF_TESTS_CURATOR_LEDGER_CRASH_H_
#define DPNMF_TESTS_CURATOR_LEDGER_CRASH_H_

#include <cstring>
#include <functional>

#include "common/base/failpoint.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {

inline const char* g_crash_at = "";

// Runs `body` in a child that stops at `place`.
inline void CrashAt(const char* place, const std::function<void()>& body) {
  constexpr int kCrashed = 77;
  const int status = InChild([&] {
    g_crash_at = place;
    failpoint::on_reach = [](const char* at) {
      if (std::strcmp(at, g_crash_at) == 0) ::_exit(kCrashed);
    };
    body();
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), kCrashed) << place << " was not reached";
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_LEDGER_CRASH_H_
