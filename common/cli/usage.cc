#include "common/cli/usage.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/cli/flag_value.h"

namespace dpnmf {
namespace {

const Command* CommandOf(const Command& parent, const std::string& name) {
  for (const Command& command : parent.commands)
    if (command.name == name) return &command;
  return nullptr;
}

// Empty if a section names no command.
CommandPath PathOf(const Program& program, const ConfigKey& key) {
  CommandPath path = {&program.root};
  for (const std::string& section : key.sections) {
    path.push_back(CommandOf(*path.back(), section));
    if (path.back() == nullptr) return {};
  }
  return path;
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

}  // namespace

std::string PathText(const CommandPath& path) {
  return absl::StrJoin(path, " ", [](std::string* out, const Command* command) {
    absl::StrAppend(out, command->name);
  });
}

std::vector<std::string> FlagNames(const Program& program,
                                   const CommandPath& path) {
  std::vector<std::string> names = {"--help", "--version"};
  if (*program.config.help != '\0') names.emplace_back("--config");
  if (CommandOf(program.root, "health") != nullptr)
    names.emplace_back("--health");
  for (const Command* command : path)
    for (const Flag& flag : command->flags)
      if (*flag.name == '-') names.push_back(LongName(flag));
  return names;
}

std::string UnknownArgument(const Program& program, const CommandPath& path,
                            const std::string& argument) {
  if (absl::StartsWith(argument, "-")) {
    const std::string flag = argument.substr(0, argument.find('='));
    return absl::StrCat("There is no flag `", flag, "`",
                        Proposal(flag, FlagNames(program, path)));
  }
  std::vector<std::string> commands;
  for (const Command& command : path.back()->commands)
    commands.emplace_back(command.name);
  const std::vector<std::string> flags = FlagNames(program, path);
  double number = 0;  // no name, but a value without its flag
  const bool has_dataset =
      std::find(flags.begin(), flags.end(), "--dataset") != flags.end() &&
      !absl::SimpleAtod(argument, &number);
  return commands.empty()
             ? absl::StrCat("Unexpected `", argument, "`",
                            has_dataset
                                ? absl::StrCat(" (did you mean --dataset ",
                                               argument, "?)")
                                : "")
             : absl::StrCat("There is no command `", argument, "`",
                            Proposal(argument, commands));
}

const Flag* FlagOfKey(const Program& program, const ConfigKey& key) {
  const CommandPath path = PathOf(program, key);
  if (path.empty()) return nullptr;
  for (const Flag& flag : path.back()->flags) {
    const std::string name = LongName(flag);
    if (name == "--" + key.name || name == key.name) return &flag;
  }
  return nullptr;
}

std::string UnknownKey(const Program& program, const std::string& file,
                       const ConfigKey& key) {
  const CommandPath path = PathOf(program, key);
  std::vector<std::string> known;
  if (!path.empty())
    for (const Flag& flag : path.back()->flags)
      if (*flag.name == '-') known.push_back(LongName(flag).substr(2));
  const std::string sections =
      absl::StrJoin(key.sections, "", [](std::string* out, const auto& name) {
        absl::StrAppend(out, name, ".");
      });
  return absl::StrCat("The configuration file ", file,
                      " has a key that is not the name of a flag: `", sections,
                      key.name, "`", Proposal(key.name, known));
}

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

}  // namespace dpnmf
