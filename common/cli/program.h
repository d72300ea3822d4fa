// Command lines as tables: a flag, a command and a program are plain structs,
// and Main reads argv by them.
//
// A flag is given on the command line, in the environment or in a TOML file
// (--config; the flags' names as keys, those of a command in a [section]): the
// first of these wins. The flags of a program also stand after its command.
// Help and usage errors come from the tables. program.cc alone includes CLI11.
#ifndef DPNMF_COMMON_CLI_PROGRAM_H_
#define DPNMF_COMMON_CLI_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/exit_code.h"

namespace dpnmf {

// Target of a flag's value. A target without a given value keeps its own. A
// bool is set by the flag without a value; a vector takes several values,
// separated by commas or blanks, which replace its elements.
using FlagTarget =
    std::variant<bool*, std::string*, double*, int*, std::uint32_t*,
                 std::uint64_t*, std::optional<int>*, std::optional<double>*,
                 std::optional<std::uint32_t>*, std::optional<std::uint64_t>*,
                 std::vector<std::string>*, std::vector<double>*,
                 std::vector<std::uint32_t>*>;

// Least and most of a whole number; {}: what the target holds.
struct WholeRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

struct FlagRules {
  // Name of the value in help; "": by the target. FILE and DIR are paths: in
  // the configuration file, relative to its directory.
  const char* value = "";
  const char* one_of = "";  // the words that are taken, as "text|json"
  WholeRange range = {};
  const char* needs = "";  // "--name" of a flag that must be given with it
  bool env = false;  // also read from the variable Program::env_prefix NAME
  bool required = false;
  bool shown = false;  // help shows the target's value as the default
};

struct Flag {
  Flag(const char* flag_name, FlagTarget flag_target, const char* flag_help,
       const FlagRules& flag_rules = {})
      : name(flag_name),
        target(flag_target),
        help(flag_help),
        rules(flag_rules) {}

  // "--rank", or "--output,-o"; "run", without dashes, is an argument.
  const char* name;
  FlagTarget target;
  const char* help;
  FlagRules rules;
};

struct Command {
  const char* name = "";
  const char* summary = "";  // one sentence for the list of commands
  const char* footer = "";   // printed as it is; "": that of the parent
  std::vector<Flag> flags = {};
  // Does the work; it owns what `flags` point to. Null: one of `commands` is
  // required.
  std::function<absl::StatusOr<ExitCode>()> run = {};
  std::vector<Command> commands = {};
  // Another command of the program, whose section of the configuration file
  // also sets the flags of this one that have the same names and that its own
  // section does not set; "": none.
  const char* also_section = "";
};

struct ConfigFile {
  const char* help = "";  // of --config; "": there is no such flag
  // The file that is read if --config names none; empty: none.
  std::string path = {};
  bool must_exist = false;  // whether it is an error if `path` is not there
};

struct Program {
  // Its name is the program's. A program with a command `health` also takes
  // `--health` for it, as container checks expect.
  Command root = {};
  std::string version = {};
  const char* env_prefix = "DPNMF_";  // DPNMF_DATA_DIR for --data-dir
  ConfigFile config = {};
};

// Runs the command that argv names and returns the exit code. An error of the
// command is written to `err` by ErrorText; a command line that cannot be
// understood as "PROGRAM: SENTENCE; see 'PROGRAM COMMAND --help'. [usage]",
// kExitUsage. Either is one line of JSON, {"error": {"code", "message",
// "exit_code"}}, if the words ask for `--format json`. What is unknown is named
// before what is missing, with the nearest known name if one is near. If not
// all that was printed could be written, the exit code is not 0, and the
// sentence is that of "output-not-written"; a closed pipe has no sentence.
// `--manual` and `--completion`, alone, print what manual.h makes, for
// packages.
ExitCode Main(const Program& program, int argc, const char* const* argv,
              std::ostream* out, std::ostream* err);
// The same with the standard streams.
ExitCode Main(const Program& program, int argc, const char* const* argv);

// "PROGRAM: SENTENCE [CODE]" and a line break.
std::string ErrorText(const std::string& program, const absl::Status& status);

// The variable of a flag that has one: "DPNMF_DATA_DIR" of "--data-dir".
std::string VariableOf(const Program& program, const Flag& flag);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CLI_PROGRAM_H_
