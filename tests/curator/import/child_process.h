// Exit status of a child process.
#ifndef DPNMF_TESTS_CURATOR_IMPORT_CHILD_PROCESS_H_
#define DPNMF_TESTS_CURATOR_IMPORT_CHILD_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "gtest/gtest.h"

namespace dpnmf::curator {

// The status that waitpid has of a child which ends with what body returns.
inline int ExitStatusOf(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_IMPORT_CHILD_PROCESS_H_
