// How --help looks: within 80 columns.
#ifndef DPNMF_ANALYST_CLI_HELP_H_
#define DPNMF_ANALYST_CLI_HELP_H_

#include <string>

#include "CLI/CLI.hpp"

namespace dpnmf::cli {

// `text` with line breaks in the place of blanks, so that no line is longer
// than `width`, unless a word is.
std::string Wrap(const std::string& text, std::size_t width);

// CLI11's layout with the descriptions wrapped.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLI_HELP_H_
