#include "client/session/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

namespace dpnmf::cli {
namespace {

constexpr int kUsualWidth = 80;

int TerminalWidth() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kUsualWidth;
  return size.ws_col;
}

}  // namespace

Environment SystemEnvironment(const std::string& version) {
  Environment environment;
  environment.out = &std::cout;
  environment.err = &std::cerr;
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0)
    environment.answers = &std::cin;
  environment.terminal_width = TerminalWidth();
  environment.version = version;
  environment.connect = ConnectTls;
  return environment;
}

}  // namespace dpnmf::cli
