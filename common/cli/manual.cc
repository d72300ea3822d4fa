#include "common/cli/manual.h"

#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/cli/flag_value.h"
#include "common/cli/usage.h"

namespace dpnmf {
namespace {

// ---- roff

// Characters that roff takes for its own.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
}

// Lines of text: none may begin like a request.
std::string Lines(const std::string& text) {
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool request = !line.empty() && (line[0] == '.' || line[0] == '\'');
    absl::StrAppend(&lines, request ? "\\&" : "", Escaped(std::string(line)),
                    "\n");
  }
  return lines;
}

std::string Bold(const std::string& text) {
  return absl::StrCat("\\fB", Escaped(text), "\\fR");
}

// Formats text as a terminal shows it.
std::string Verbatim(const std::string& text) {
  return text.empty() ? "" : absl::StrCat(".PP\n.EX\n", Lines(text), ".EE\n");
}

std::string WithStop(std::string sentence) {
  if (!sentence.empty() && sentence.back() != '.') sentence += '.';
  return sentence;
}

std::string FlagText(const Program& program, const Flag& flag) {
  const std::vector<std::string> names = absl::StrSplit(flag.name, ',');
  std::string text = ".TP\n";
  absl::StrAppend(
      &text, absl::StrJoin(names, ", ", [](std::string* out, const auto& name) {
        out->append(Bold(name));
      }));
  if (!IsSwitch(flag) && *flag.name == '-')
    absl::StrAppend(&text, " \\fI", Escaped(ValueName(flag)), "\\fR",
                    IsList(flag) ? " ..." : "");
  std::string rest = WithStop(flag.help);
  if (flag.rules.required) rest += " Required.";
  if (*flag.rules.needs != '\0')
    absl::StrAppend(&rest, " Needs ", flag.rules.needs, ".");
  const std::string value = DefaultText(flag);
  if (!value.empty()) absl::StrAppend(&rest, " Default: ", value, ".");
  if (flag.rules.env)
    absl::StrAppend(&rest, " Variable: ", VariableOf(program, flag), ".");
  return absl::StrCat(text, "\n", Lines(rest));
}

std::string FlagTexts(const Program& program, const Command& command) {
  std::string text;
  for (const Flag& flag : command.flags)
    absl::StrAppend(&text, FlagText(program, flag));
  return text;
}

// The commands below the last of `path`, each with what stands below it.
std::string CommandTexts(const Program& program, const CommandPath& path) {
  std::string text;
  for (const Command& command : path.back()->commands) {
    CommandPath below = path;
    below.push_back(&command);
    const std::string name =
        PathText(CommandPath(below.begin() + 1, below.end()));
    absl::StrAppend(&text, ".SS \"", Escaped(name), "\"\n",
                    Lines(WithStop(command.summary)),
                    FlagTexts(program, command), Verbatim(command.footer),
                    CommandTexts(program, below));
  }
  return text;
}

// ---- bash

std::string Quoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// A case of bash; nothing if there is no pattern.
std::string Case(const std::vector<std::string>& patterns,
                 const std::string& action) {
  if (patterns.empty()) return "";
  return absl::StrCat("    ", absl::StrJoin(patterns, " | "), ") ", action,
                      " ;;\n");
}

struct Completion {
  std::vector<std::string> commands;  // patterns of "PATH COMMAND"
  std::set<std::string> takers;       // flags that take a value
  std::string words;                  // cases of "PATH FLAG"
  std::string known;                  // cases of "PATH"
};

void AddCompletion(const Program& program, const CommandPath& path,
                   const std::string& place, Completion* all) {
  std::vector<std::string> known;
  for (const Command& command : path.back()->commands) {
    known.emplace_back(command.name);
    const std::string below = absl::StrCat(place, " ", command.name);
    all->commands.push_back(Quoted(below));
    CommandPath longer = path;
    longer.push_back(&command);
    AddCompletion(program, longer, below, all);
  }
  for (const std::string& name : FlagNames(program, path))
    known.push_back(name);
  absl::StrAppend(
      &all->known,
      Case({Quoted(place)},
           absl::StrCat("known=", Quoted(absl::StrJoin(known, " ")))));
  for (const Command* command : path) {
    for (const Flag& flag : command->flags) {
      if (*flag.name != '-' || IsSwitch(flag)) continue;
      std::vector<std::string> patterns;
      for (const absl::string_view name : absl::StrSplit(flag.name, ',')) {
        all->takers.insert(Quoted(std::string(name)));
        patterns.push_back(Quoted(absl::StrCat(place, " ", name)));
      }
      if (*flag.rules.one_of == '\0') continue;
      const std::string words =
          absl::StrReplaceAll(flag.rules.one_of, {{"|", " "}});
      absl::StrAppend(&all->words,
                      Case(patterns, absl::StrCat("known=", Quoted(words))));
    }
  }
}

}  // namespace

std::string ManualPage(const Program& program) {
  const Command& root = program.root;
  const std::string name = root.name, about = root.summary;
  const std::size_t end = about.find_first_of(".:");
  std::string text = absl::StrCat(
      ".TH ", absl::AsciiStrToUpper(Escaped(name)), " 1 \"\" \"dpnmf ",
      program.version, "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n",
      Escaped(name), " \\- ", Lines(about.substr(0, end)), ".SH SYNOPSIS\n",
      Bold(name));
  absl::StrAppend(&text, root.commands.empty() ? "" : " \\fICOMMAND\\fR",
                  " [\\fIFLAG\\fR]...\n.SH DESCRIPTION\n",
                  Lines(WithStop(about)), ".SH OPTIONS\n.TP\n", Bold("--help"),
                  "\nPrint help, also of a command.\n.TP\n", Bold("--version"),
                  "\nPrint the version.\n");
  if (*program.config.help != '\0')
    absl::StrAppend(&text, ".TP\n", Bold("--config"), " \\fIFILE\\fR\n",
                    Lines(WithStop(program.config.help)));
  absl::StrAppend(&text, FlagTexts(program, root));
  if (!root.commands.empty())
    absl::StrAppend(&text, ".SH COMMANDS\n", CommandTexts(program, {&root}));
  if (*root.footer != '\0')
    absl::StrAppend(&text, ".SH NOTES\n", Verbatim(root.footer));
  return text;
}

std::string BashCompletion(const Program& program) {
  Completion all;
  all.takers.insert({Quoted("--config"), Quoted("=")});
  AddCompletion(program, {&program.root}, "", &all);
  const std::string name = program.root.name;
  const std::string function =
      absl::StrCat("_", absl::StrReplaceAll(name, {{"-", "_"}}));
  std::string text =
      absl::StrCat("# Completion of ", name, " for bash, made by: ", name,
                   " --completion\n", function, R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} place= known= i
  # Bash takes "--flag=word" for three words.
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)");
  if (!all.commands.empty()) {
    absl::StrAppend(&text, "  for ((i = 1; i < COMP_CWORD; ++i)); do\n",
                    "    case ${COMP_WORDS[i - 1]} in\n",
                    Case({all.takers.begin(), all.takers.end()}, "continue"),
                    "    esac\n", "    case \"$place ${COMP_WORDS[i]}\" in\n",
                    Case(all.commands, "place+=\" ${COMP_WORDS[i]}\""),
                    "    esac\n", "  done\n");
  }
  absl::StrAppend(&text, "  case \"$place $before\" in\n", all.words,
                  "    *)\n      case $before in\n    ",
                  Case({all.takers.begin(), all.takers.end()}, "return"),
                  "      esac\n      case $place in\n", all.known,
                  "      esac\n      ;;\n  esac\n",
                  "  mapfile -t COMPREPLY < <(compgen -W \"$known\" -- "
                  "\"$current\")\n}\ncomplete -o default -F ",
                  function, " ", name, "\n");
  return text;
}

}  // namespace dpnmf
