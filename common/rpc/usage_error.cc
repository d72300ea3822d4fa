#include "common/rpc/usage_error.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace dpnmf {
namespace {

constexpr char kCode[] = "usage";

// The command that was reached: the program itself if none was.
const CLI::App* CommandOf(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return command;
}

// "dpnmf receipts export".
std::string PathOf(const CLI::App* command) {
  const CLI::App* parent = command->get_parent();
  return parent == nullptr
             ? command->get_name()
             : absl::StrCat(PathOf(parent), " ", command->get_name());
}

std::vector<std::string> CommandsOf(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::App* known :
       command->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  return names;
}

std::vector<std::string> FlagsOf(const CLI::App* command) {
  std::vector<std::string> flags;
  for (; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        flags.push_back(absl::StrCat("--", name));
  }
  return flags;
}

// Levenshtein's: insertions, deletions and replacements.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// " (did you mean `plan`?)", or nothing if no name is near.
std::string Proposal(const std::string& given,
                     const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& name) {
    return EditDistance(given, name);
  };
  const auto nearest = std::min_element(
      known.begin(), known.end(),
      [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  const std::size_t near = given.size() <= 4 ? 1 : 2;
  if (nearest == known.end() || distance(*nearest) > near) return "";
  return absl::StrCat(" (did you mean `", *nearest, "`?)");
}

// Of the first argument that nothing took.
std::string UnknownSentence(const std::string& argument,
                            const CLI::App* command) {
  if (absl::StartsWith(argument, "-")) {
    const std::string flag = argument.substr(0, argument.find('='));
    return absl::StrCat("There is no flag `", flag, "`",
                        Proposal(flag, FlagsOf(command)));
  }
  const std::vector<std::string> commands = CommandsOf(command);
  return commands.empty()
             ? absl::StrCat("Nothing takes the argument `", argument, "`")
             : absl::StrCat("There is no command `", argument, "`",
                            Proposal(argument, commands));
}

std::string ConfigurationFile(const CLI::App& app) {
  const CLI::Option* const config = app.get_config_ptr();
  return config == nullptr ? "" : config->as<std::string>();
}

// The library says "INI was not able to parse KEY".
std::string KeySentence(const CLI::App& app, const std::string& said) {
  const std::string key = said.substr(said.rfind(' ') + 1);
  std::string proposal;
  if (!absl::StrContains(key, '.'))
    proposal = absl::StrReplaceAll(Proposal("--" + key, FlagsOf(&app)),
                                   {{"`--", "`"}});
  return absl::StrCat("The configuration file ", ConfigurationFile(app),
                      " has a key that no flag is called: `", key, "`",
                      proposal);
}

// The library says "Could not convert: --epsilon = much".
std::string ConversionSentence(std::string_view said) {
  constexpr std::string_view kStart = "Could not convert: ";
  const std::size_t equals = said.find(" = ");
  if (!said.starts_with(kStart) || equals == std::string_view::npos)
    return std::string(said);
  return absl::StrCat(
      std::string(said.substr(kStart.size(), equals - kStart.size())),
      " cannot be `", std::string(said.substr(equals + 3)), "`");
}

std::string Sentence(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr)
    return absl::StrCat("The configuration file ", ConfigurationFile(app),
                        " cannot be read");
  if (absl::StrContains(said, "INI was not able to parse"))
    return KeySentence(app, said);
  // Validators of this project begin with "must".
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr)
    return absl::StrReplaceAll(said, {{": must ", " must "}});
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return ConversionSentence(said);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
      absl::EndsWith(said, " missing"))
    return absl::StrCat(said.substr(0, said.find(':')), " needs a value");
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  return unknown.empty() ? said
                         : UnknownSentence(unknown.front(), CommandOf(app));
}

}  // namespace

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  // On one line, whatever was typed.
  std::string sentence = Sentence(app, error);
  std::replace_if(
      sentence.begin(), sentence.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); },
      ' ');
  return absl::StrCat(app.get_name(), ": ", sentence, "; see '",
                      PathOf(CommandOf(app)), " --help'. [", kCode, "]\n");
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  const std::vector<std::string> first(words.begin(), words.end() - 1);
  const std::string refusal = absl::StrCat(
      "must be ", absl::StrJoin(first, ", "), " or ", words.back());
  return {[words, refusal](std::string& word) {
            const bool known =
                std::find(words.begin(), words.end(), word) != words.end();
            return known ? std::string() : refusal;
          },
          ""};
}

}  // namespace dpnmf
