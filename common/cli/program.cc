#include "common/cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/cli/config_file.h"
#include "common/cli/flag_value.h"
#include "common/cli/manual.h"
#include "common/cli/usage.h"
#include "common/threads/interruption.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

constexpr char kUsageCode[] = "usage";
constexpr std::size_t kScreen = 80;
constexpr std::size_t kFlagColumn = 32;

// `text` with line breaks in the place of blanks, so that no line is longer
// than `width`, unless a word is.
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

bool HasHealth(const Program& program) {
  const auto& commands = program.root.commands;
  return std::any_of(commands.begin(), commands.end(), [](const auto& command) {
    return std::string_view(command.name) == "health";
  });
}

// CLI11's layout within the screen.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kFlagColumn); }
  // CLI11 requires a configuration file that must be there, though its path is
  // known without the flag.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_name() == "--config") {
      const std::string path = option->get_default_str();
      return absl::StrCat(" ", option->get_type_name(), path.empty() ? "" : "=",
                          path);
    }
    return CLI::Formatter::make_option_opts(option);
  }
  std::string make_description(const CLI::App* command) const override {
    return Wrap(command->get_description(), kScreen) + "\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrap(option->get_description(), kScreen - kFlagColumn);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(
        text, command->get_name(),
        Wrap(command->get_description(), kScreen - kFlagColumn), kFlagColumn);
    return text.str();
  }
};

// Reads the file and leaves out what does not count: flags that are `given` in
// the command line, keys whose variable is set (CLI11 lets a file win over the
// environment) and keys that no flag is called, of which it keeps the first.
class ConfigReader : public CLI::Config {
 public:
  ConfigReader(const Program& program, std::function<bool(const Flag&)> given)
      : program_(program), given_(std::move(given)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    ConfigEntries read = ReadConfig(input);
    problem_ = std::move(read.problem);
    AddSharedSections(&read.entries);
    std::vector<CLI::ConfigItem> found;
    for (ConfigEntry& entry : read.entries) {
      const ConfigKey key = {entry.sections, entry.name};
      const Flag* const flag = FlagOfKey(program_, key);
      if (flag == nullptr && !unknown_.has_value()) unknown_ = key;
      if (flag == nullptr || given_(*flag) || IsInEnvironment(*flag)) continue;
      set_.insert(flag);
      CLI::ConfigItem& item = found.emplace_back();
      item.parents = std::move(entry.sections);
      item.name = std::move(entry.name);
      item.inputs = std::move(entry.values);
    }
    return found;
  }
  // Nobody asks for one.
  std::string to_config(const CLI::App*, bool, bool,
                        std::string) const override {
    return "";
  }

  // Error in the file, without the file's name; empty if the file is TOML.
  const std::string& problem() const { return problem_; }
  const std::optional<ConfigKey>& unknown() const { return unknown_; }
  // Returns true if the flag's value is the file's.
  bool Sets(const Flag& flag) const { return set_.contains(&flag); }

 private:
  // Repeats entries of a section under the commands that also read it.
  void AddSharedSections(std::vector<ConfigEntry>* entries) const {
    std::set<const Flag*> own;
    for (const ConfigEntry& entry : *entries)
      own.insert(FlagOfKey(program_, {entry.sections, entry.name}));
    std::vector<ConfigEntry> shared;
    for (const Command& command : program_.root.commands) {
      if (*command.also_section == '\0') continue;
      for (const ConfigEntry& entry : *entries) {
        if (entry.sections != std::vector<std::string>{command.also_section})
          continue;
        const Flag* const flag =
            FlagOfKey(program_, {{command.name}, entry.name});
        if (flag == nullptr || own.contains(flag)) continue;
        shared.push_back(entry);
        shared.back().sections = {command.name};
      }
    }
    entries->insert(entries->end(), shared.begin(), shared.end());
  }

  bool IsInEnvironment(const Flag& flag) const {
    if (!flag.rules.env) return false;
    const char* const value = std::getenv(VariableOf(program_, flag).c_str());
    return value != nullptr && *value != '\0';
  }

  const Program& program_;
  const std::function<bool(const Flag&)> given_;
  mutable std::set<const Flag*> set_;
  mutable std::string problem_;
  mutable std::optional<ConfigKey> unknown_;
};

// The tables as CLI11 knows them. It splits argv, the environment and the file
// into words; what they mean, and whether they are right, is decided here.
class Parser {
 public:
  explicit Parser(const Program& program)
      : program_(program),
        app_(program.root.summary, program.root.name),
        config_(
            std::make_shared<ConfigReader>(program, [this](const Flag& flag) {
              return !options_.at(&flag)->empty();
            })) {
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.config_formatter(config_);
    app_.fallthrough();
    app_.set_version_flag(
        "--version", absl::StrCat(program.root.name, " ", program.version));
    if (*program.config.help != '\0')
      app_.set_config("--config", program.config.path, program.config.help,
                      program.config.must_exist)
          ->type_name("FILE");
    AddCommand(program.root, &app_);
    if (HasHealth(program))
      app_.add_flag("--health")
          ->description("The same as the subcommand health");
  }

  // Throws CLI11's CallForHelp and CallForVersion. Returns what is wrong; empty
  // if nothing is: the targets are set then.
  std::string Parse(int argc, const char* const* argv) {
    std::string said;  // what CLI11 says, in case that the tables find nothing
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success&) {
      throw;
    } catch (const CLI::FileError&) {
      return absl::StrCat("The configuration file ", ConfigPath(),
                          " cannot be read");
    } catch (const CLI::ArgumentMismatch& error) {
      // A value that is missing is missing at the end.
      const std::string flag = FlagNamed(argv[argc - 1]);
      if (!flag.empty()) return absl::StrCat(flag, " needs a value");
      said = error.what();
    } catch (const CLI::ParseError& error) {
      said = error.what();
    }
    const std::string problem = Problem();
    return problem.empty() ? said : problem;
  }

  // The program and the commands that were reached.
  CommandPath Path() const {
    CommandPath path;
    for (const CLI::App* app = &app_;; app = app->get_subcommands().front()) {
      path.push_back(commands_.at(app));
      if (app->get_subcommands().empty()) return path;
    }
  }

  std::string Help() const { return app_.help(); }

  // Complaint about the first word that is no flag and that no command takes;
  // empty if there is none.
  std::string UnknownCommand() const {
    for (const std::string& word : app_.remaining(/*recurse=*/true))
      if (word.empty() || word.front() != '-')
        return UnknownArgument(program_, Path(), word);
    return "";
  }

 private:
  void AddCommand(const Command& command, CLI::App* app) {
    commands_[app] = &command;
    if (*command.footer != '\0') app->footer(command.footer);
    for (const Flag& flag : command.flags) AddFlag(flag, app);
    for (const Flag& flag : command.flags)
      if (*flag.rules.needs != '\0')
        options_.at(&flag)->needs(app->get_option(flag.rules.needs));
    if (command.run == nullptr) app->require_subcommand(1);
    for (const Command& sub : command.commands)
      AddCommand(sub, app->add_subcommand(sub.name, sub.summary));
  }

  void AddFlag(const Flag& flag, CLI::App* app) {
    CLI::Option* const option =
        IsSwitch(flag)
            ? app->add_flag(flag.name)->description(flag.help)
            : app->add_option(
                  flag.name,
                  CLI::callback_t([](const CLI::results_t&) { return true; }),
                  flag.help);
    options_[&flag] = option;
    if (flag.rules.env) option->envname(VariableOf(program_, flag));
    if (IsSwitch(flag)) return;
    if (IsList(flag))
      option->expected(CLI::detail::expected_max_vector_size)->delimiter(',');
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->required(flag.rules.required)
        ->type_name(ValueName(flag))
        ->default_str(DefaultText(flag));
  }

  std::string ConfigPath() const {
    return app_.get_config_ptr()->as<std::string>();
  }

  // Directory of relative paths in the file; empty for the working directory,
  // also if a shell hands the file over as a stream.
  std::string ConfigDirectory() const {
    const std::string directory =
        std::filesystem::path(ConfigPath()).parent_path().string();
    const bool of_streams = directory == "/dev" || directory == "/dev/fd" ||
                            directory == "/proc/self/fd";
    return of_streams ? "" : directory;
  }

  // The flag that takes a value and that the word is, by its long name; empty
  // if there is none.
  std::string FlagNamed(const std::string& word) const {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--config") return name;
    for (const Command* command : Path()) {
      for (const Flag& flag : command->flags)
        if (options_.at(&flag)->check_name(name)) return LongName(flag);
    }
    return "";
  }

  std::string Problem() const {
    const CommandPath path = Path();
    if (!config_->problem().empty()) {
      return absl::StrCat(
          "The configuration file ", ConfigPath(),
          " is not TOML that can be read: ", config_->problem());
    }
    if (config_->unknown().has_value())
      return UnknownKey(program_, ConfigPath(), *config_->unknown());
    const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
    if (!unknown.empty())
      return UnknownArgument(program_, path, unknown.front());
    for (const Command* command : path) {
      std::string problem = SetFlags(*command);
      if (!problem.empty()) return problem;
    }
    if (path.back()->run == nullptr) return "A command is required";
    for (const Command* command : path) {
      std::string problem = MissingFlag(*command);
      if (!problem.empty()) return problem;
    }
    return "";
  }

  std::string SetFlags(const Command& command) const {
    for (const Flag& flag : command.flags) {
      const CLI::Option* const option = options_.at(&flag);
      if (option->empty()) continue;
      std::vector<std::string> words = option->results();
      std::string problem;
      for (std::string& word : words) {
        if (config_->Sets(flag) && problem.empty())
          problem = TakeFromDirectory(flag, ConfigDirectory(), &word);
      }
      if (problem.empty()) problem = SetFlag(flag, words);
      if (!problem.empty()) return problem;
    }
    return "";
  }

  std::string MissingFlag(const Command& command) const {
    for (const Flag& flag : command.flags) {
      const CLI::Option* const option = options_.at(&flag);
      if (flag.rules.required && option->empty()) {
        if (*flag.name == '-')
          return absl::StrCat(LongName(flag), " is required");
        // The help of an argument begins with a noun.
        std::string noun = flag.help;
        noun.front() =
            absl::ascii_tolower(static_cast<unsigned char>(noun.front()));
        return absl::StrCat(
            "Give the ", noun, ": ", PathText(Path()), " ",
            *flag.rules.value == '\0' ? flag.name : flag.rules.value);
      }
      for (const CLI::Option* needed : option->get_needs())
        if (!option->empty() && needed->empty())
          return absl::StrCat(LongName(flag), " requires ", flag.rules.needs);
    }
    return "";
  }

  const Program& program_;
  CLI::App app_;
  const std::shared_ptr<ConfigReader> config_;
  std::map<const CLI::App*, const Command*> commands_;
  std::map<const Flag*, CLI::Option*> options_;
};

std::string UsageText(const Program& program, const CommandPath& path,
                      std::string sentence) {
  // On one line, whatever was typed.
  std::replace_if(
      sentence.begin(), sentence.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); },
      ' ');
  return absl::StrCat(program.root.name, ": ", sentence, "; see '",
                      PathText(path), " --help'. [", kUsageCode, "]\n");
}

// Checks if the words ask for JSON. They may be no valid command line.
bool AsksForJson(const std::vector<const char*>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--format=json") return true;
    if (word == "--format" && i + 1 < arguments.size() &&
        std::string_view(arguments[i + 1]) == "json")
      return true;
  }
  return false;
}

// Checks if a flag, a variable or the configuration file sets --format json.
bool FormatIsJson(const CommandPath& path) {
  for (const Command* command : path) {
    for (const Flag& flag : command->flags) {
      const auto* const text = std::get_if<std::string*>(&flag.target);
      if (LongName(flag) == "--format" && text != nullptr && **text == "json")
        return true;
    }
  }
  return false;
}

// "PROGRAM: SENTENCE [CODE]\n" as a line of JSON.
std::string JsonOfErrorText(const std::string& program, const std::string& text,
                            ExitCode exit_code) {
  const std::size_t code = text.rfind(" [");
  const std::size_t sentence = program.size() + 2;
  const nlohmann::ordered_json error = {
      {"code", text.substr(code + 2, text.size() - code - 4)},
      {"message", text.substr(sentence, code - sentence)},
      {"exit_code", static_cast<int>(exit_code)}};
  return nlohmann::ordered_json{{"error", error}}.dump(
             -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

// Memory that the system does not give, and what a library throws.
absl::StatusOr<ExitCode> WithoutExceptions(const Command& command) {
  try {
    return command.run();
  } catch (const std::exception& exception) {
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   absl::StrCat("The program failed: ", exception.what(), "."));
  }
}

// Opens /dev/null in the place of standard streams that are closed, such that
// their use fails: else the next file that is opened, a ledger for one, gets
// the number, and what is printed goes there.
void OccupyStandardStreams() {
  for (const int number : {0, 1, 2}) {
    if (fcntl(number, F_GETFD) != -1) continue;
    open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);  // the lowest number
  }
}

// The system's error if not all output was written; else 0.
int OutputError(std::ostream* out) {
  errno = 0;
  out->flush();
  const bool flushed = std::fflush(stdout) == 0;  // what std::fputs wrote
  if (flushed && std::ferror(stdout) == 0 && out->good()) return 0;
  // A write before failed, and its reason is gone: one more has the same.
  if (errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1) return EIO;
  return errno;
}

}  // namespace

ExitCode Main(const Program& program, int argc, const char* const* argv,
              std::ostream* out, std::ostream* err) {
  OccupyStandardStreams();
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "--health" && HasHealth(program))
    arguments[1] = "health";
  Parser parser(program);
  bool refused = false;
  const auto refuse = [&](const std::string& text, ExitCode code) {
    refused = true;
    *err << (AsksForJson(arguments) || FormatIsJson(parser.Path())
                 ? JsonOfErrorText(program.root.name, text, code)
                 : text)
         << std::flush;
    return code;
  };
  const auto run = [&] {
    const std::string_view only = argc == 2 ? argv[1] : "";
    if (only == "--manual" || only == "--completion") {
      *out << (only == "--manual" ? ManualPage(program)
                                  : BashCompletion(program));
      return kExitOk;
    }
    try {
      const std::string problem = parser.Parse(argc, arguments.data());
      if (!problem.empty())
        return refuse(UsageText(program, parser.Path(), problem), kExitUsage);
    } catch (const CLI::CallForVersion& version) {
      *out << version.what() << '\n';
      return kExitOk;
    } catch (const CLI::Success&) {
      if (const std::string problem = parser.UnknownCommand(); !problem.empty())
        return refuse(UsageText(program, parser.Path(), problem), kExitUsage);
      *out << parser.Help();
      return kExitOk;
    }
    const absl::StatusOr<ExitCode> done =
        WithoutExceptions(*parser.Path().back());
    if (done.ok()) return *done;
    const absl::Status why = AsInterruption(done.status());
    return refuse(ErrorText(program.root.name, why), ExitCodeOf(why));
  };
  const ExitCode code = run();
  const int error = OutputError(out);
  if (error == 0 || refused) return code;  // one error, in JSON one object
  const ExitCode failed = code == kExitOk ? kExitInternal : code;
  if (error == EPIPE) return failed;  // the reader wanted no more
  const absl::Status why = Refusal(
      absl::StatusCode::kInternal, "output-not-written",
      absl::StrCat("Standard output cannot be written: ", std::strerror(error),
                   "; what the command printed is incomplete, what it did "
                   "stays done."));
  return refuse(ErrorText(program.root.name, why), failed);
}

ExitCode Main(const Program& program, int argc, const char* const* argv) {
  return Main(program, argc, argv, &std::cout, &std::cerr);
}

std::string ErrorText(const std::string& program, const absl::Status& status) {
  const std::string code = ReasonCode(status);
  return absl::StrCat(program, ": ", status.message(), " [",
                      code.empty() ? "internal-error" : code, "]\n");
}

std::string VariableOf(const Program& program, const Flag& flag) {
  const std::string name =
      absl::StrReplaceAll(LongName(flag).substr(2), {{"-", "_"}});
  return absl::StrCat(program.env_prefix, absl::AsciiStrToUpper(name));
}

}  // namespace dpnmf
