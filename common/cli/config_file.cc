#include "common/cli/config_file.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digits.h"

// toml++ 3.3 asserts what a malformed file can reach ("[" without a key), and a
// release build assumes it. Here it is an error as any other.
namespace dpnmf {
[[noreturn]] static void ThrowNotToml() {
  throw std::invalid_argument("a table header or a key is malformed");
}
}  // namespace dpnmf
#define TOML_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::dpnmf::ThrowNotToml())
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include "toml++/toml.h"
#pragma pop_macro("NDEBUG")

namespace dpnmf {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;
// A path of a.b.c of more parts than any section has.
constexpr std::ptrdiff_t kMostDotsOfALine = 1000;

// Without these the parser's recursion is as deep as the file is long.
std::string TooLarge(std::string_view text) {
  if (text.size() > kLargestFile) return "it is larger than 1 MiB";
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    if (std::count(one.begin(), one.end(), '.') > kMostDotsOfALine)
      return absl::StrCat("line ", line, ": it has too many dots");
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  return "";
}

std::string PlaceOf(const toml::source_region& source) {
  return absl::StrCat("line ", source.begin.line, ", column ",
                      source.begin.column);
}

// The shortest text that gives the number again.
std::string TextOfNumber(double number) {
  if (std::isnan(number)) return "nan";
  std::string text;
  AppendShortest(number, &text);
  return text;
}

// False for tables and arrays.
bool AppendValue(const toml::node& node, std::vector<std::string>* values) {
  if (const auto* const text = node.as_string()) {
    values->push_back(**text);
  } else if (const auto* const whole = node.as_integer()) {
    values->push_back(absl::StrCat(**whole));
  } else if (const auto* const number = node.as_floating_point()) {
    values->push_back(TextOfNumber(**number));
  } else if (const auto* const truth = node.as_boolean()) {
    values->push_back(**truth ? "true" : "false");
  } else if (node.is_date() || node.is_time() || node.is_date_time()) {
    std::ostringstream moment;
    node.visit([&moment](const auto& value) {
      if constexpr (!toml::is_table<decltype(value)> &&
                    !toml::is_array<decltype(value)>)
        moment << *value;
    });
    values->push_back(moment.str());
  } else {
    return false;
  }
  return true;
}

struct Placed {
  toml::source_position place;
  ConfigEntry entry;
};

// Returns what is wrong; empty: nothing.
std::string Collect(const toml::table& table,
                    std::vector<std::string>* sections,
                    std::vector<Placed>* found) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const toml::table* const section = node.as_table()) {
      sections->push_back(name);
      std::string problem = Collect(*section, sections, found);
      if (!problem.empty()) return problem;
      sections->pop_back();
      continue;
    }
    ConfigEntry entry = {*sections, name, {}};
    const toml::array* const array = node.as_array();
    bool plain = array != nullptr || AppendValue(node, &entry.values);
    if (array != nullptr) {
      for (const toml::node& element : *array)
        plain = plain && AppendValue(element, &entry.values);
    }
    if (!plain) {
      return absl::StrCat(PlaceOf(node.source()), ": the value of `", name,
                          "` must be text, a number, true, false or an array "
                          "of these");
    }
    found->push_back({key.source().begin, std::move(entry)});
  }
  return "";
}

}  // namespace

ConfigEntries ReadConfig(std::istream& input) {
  ConfigEntries read;
  std::string text(kLargestFile + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  read.problem = TooLarge(text);
  if (!read.problem.empty()) return read;
  std::vector<Placed> found;
  try {
    const toml::table table = toml::parse(text);
    std::vector<std::string> sections;
    read.problem = Collect(table, &sections, &found);
  } catch (const toml::parse_error& error) {
    read.problem = absl::StrCat(PlaceOf(error.source()), ": ",
                                std::string(error.description()));
  } catch (const std::invalid_argument& error) {
    read.problem = error.what();
  }
  if (!read.problem.empty()) return read;
  std::stable_sort(found.begin(), found.end(),
                   [](const Placed& a, const Placed& b) {
                     return std::pair(a.place.line, a.place.column) <
                            std::pair(b.place.line, b.place.column);
                   });
  for (Placed& placed : found) read.entries.push_back(std::move(placed.entry));
  return read;
}

}  // namespace dpnmf
