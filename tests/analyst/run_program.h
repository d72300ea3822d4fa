// A program as it is installed, in a process of its own.
#ifndef DPNMF_TESTS_ANALYST_RUN_PROGRAM_H_
#define DPNMF_TESTS_ANALYST_RUN_PROGRAM_H_

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace dpnmf {

struct Outcome {
  int exit_code = -1;
  std::string text;  // both streams
};

// Runs `command` in a shell.
inline Outcome RunProgram(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t count;
       (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.text.append(buffer.data(), count);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_ANALYST_RUN_PROGRAM_H_
