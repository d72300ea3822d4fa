#include "curator/commands/usage_error.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace dpnmf::curator {
namespace {

constexpr char kCode[] = "usage";

// The innermost command that was named.
const CLI::App* Chosen(const CLI::App* app, std::string* name) {
  while (true) {
    const std::vector<CLI::App*> chosen = app->get_subcommands();
    if (chosen.empty()) return app;
    app = chosen.front();
    absl::StrAppend(name, " ", app->get_name());
  }
}

std::string Sentence(const CLI::ParseError& error, const CLI::App& app,
                     const CLI::App& chosen) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const auto flag =
      std::find_if(unknown.begin(), unknown.end(),
                   [](const std::string& word) { return word[0] == '-'; });
  if (flag != unknown.end())
    return absl::StrCat("there is no flag ", flag->substr(0, flag->find('=')));
  const bool takes_command =
      chosen.get_require_subcommand_min() > 0 && !unknown.empty();
  if (takes_command)
    return absl::StrCat("there is no subcommand ", unknown.front());
  if (!unknown.empty())
    return absl::StrCat("the word ", unknown.front(), " is not expected");
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr)
    return absl::StrCat("--config: ", error.what());
  if (chosen.get_require_subcommand_min() > 0) return "a subcommand is missing";
  std::string said = error.what();
  constexpr std::string_view kConversion = "Could not convert: ";
  if (said.starts_with(kConversion))
    said.replace(0, kConversion.size(), "this value cannot be read: ");
  return said;
}

}  // namespace

std::string UsageErrorText(const CLI::ParseError& error, const CLI::App& app) {
  std::string command = "dpnmf-curator";
  const CLI::App* const chosen = Chosen(&app, &command);
  return absl::StrCat("dpnmf-curator: ", Sentence(error, app, *chosen),
                      "; see '", command, " --help'. [", kCode, "]\n");
}

}  // namespace dpnmf::curator
