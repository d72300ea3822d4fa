// `dpnmf-lab evaluate` in a process of its own. DPNMF_PROGRAM is its path.
#ifndef DPNMF_TESTS_LAB_EVALUATE_EVALUATE_PROCESS_H_
#define DPNMF_TESTS_LAB_EVALUATE_EVALUATE_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace dpnmf::curator::lab {

// A running evaluation whose standard error is read line by line.
class Process {
 public:
  Process(std::vector<std::string> arguments, const std::string& output_file) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) std::abort();
    arguments.insert(arguments.begin(), {DPNMF_PROGRAM, "evaluate"});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int out = open(output_file.c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(out, STDOUT_FILENO);
      dup2(pipe_ends[1], STDERR_FILENO);
      close(pipe_ends[0]);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    close(pipe_ends[1]);
    errors_ = fdopen(pipe_ends[0], "r");
  }
  ~Process() {
    fclose(errors_);
    if (!ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  // The next line with `word`; empty at the end.
  std::string LineWith(const std::string& word) {
    char line[4096];
    while (fgets(line, sizeof line, errors_) != nullptr) {
      if (std::string(line).find(word) != std::string::npos) return line;
    }
    return "";
  }

  void Interrupt() { kill(pid_, SIGINT); }

  int Wait() {
    while (fgetc(errors_) != EOF) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* errors_ = nullptr;
  bool ended_ = false;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_EVALUATE_EVALUATE_PROCESS_H_
