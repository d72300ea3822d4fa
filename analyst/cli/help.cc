#include "analyst/cli/help.h"

#include <sstream>

namespace dpnmf::cli {
namespace {

constexpr std::size_t kScreen = 80;
constexpr std::size_t kFlagColumn = 32;

}  // namespace

std::string Wrap(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string wrapped;
  std::size_t line = 0;
  for (std::string word; words >> word;) {
    const bool fits = line + 1 + word.size() <= width;
    if (!wrapped.empty()) wrapped += fits ? ' ' : '\n';
    line = fits && !wrapped.empty() ? line + 1 + word.size() : word.size();
    wrapped += word;
  }
  return wrapped;
}

HelpFormatter::HelpFormatter() { column_width(kFlagColumn); }

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return Wrap(option->get_description(), kScreen - kFlagColumn);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream text;
  CLI::detail::format_help(
      text, command->get_name(),
      Wrap(command->get_description(), kScreen - kFlagColumn), kFlagColumn);
  return text.str();
}

}  // namespace dpnmf::cli
