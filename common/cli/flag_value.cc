#include "common/cli/flag_value.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace dpnmf {
namespace {

template <typename T>
struct ElementOf {
  using Type = T;
  static constexpr bool kList = false;
};
template <typename T>
struct ElementOf<std::optional<T>> {
  using Type = T;
  static constexpr bool kList = false;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  using Type = T;
  static constexpr bool kList = true;
};

std::vector<std::string> Words(const char* one_of) {
  return absl::StrSplit(one_of, '|', absl::SkipEmpty());
}

// "a, b or c".
std::string OneOfText(std::vector<std::string> words) {
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last
                       : absl::StrCat(absl::StrJoin(words, ", "), " or ", last);
}

std::string Parse(const Flag& flag, const std::string& word, bool* value) {
  if (absl::SimpleAtob(word, value)) return "";
  *value = word == "on";
  if (word == "on" || word == "off") return "";
  return absl::StrCat(LongName(flag), " must be on or off, not `", word, "`");
}

std::string Parse(const Flag& flag, const std::string& word,
                  std::string* value) {
  const std::vector<std::string> words = Words(flag.rules.one_of);
  if (!words.empty() &&
      std::find(words.begin(), words.end(), word) == words.end())
    return absl::StrCat(LongName(flag), " must be ", OneOfText(words));
  *value = word;
  return "";
}

std::string Parse(const Flag& flag, const std::string& word, double* value) {
  if (absl::SimpleAtod(word, value)) return "";
  return absl::StrCat(LongName(flag), " must be a number, not `", word, "`");
}

template <typename Whole>
std::string Parse(const Flag& flag, const std::string& word, Whole* value) {
  const WholeRange& range = flag.rules.range;
  const bool ranged = range.least != 0 || range.most != 0;
  const auto least = ranged ? static_cast<Whole>(range.least)
                            : std::numeric_limits<Whole>::min();
  const auto most = ranged ? static_cast<Whole>(range.most)
                           : std::numeric_limits<Whole>::max();
  Whole number = 0;
  if (absl::SimpleAtoi(word, &number) && number >= least && number <= most) {
    *value = number;
    return "";
  }
  return absl::StrCat(LongName(flag), " must be a whole number from ", least,
                      " to ", most, ", not ", word);
}

bool IsPathName(std::string_view value) {
  return value == "FILE" || value == "DIR";
}

std::string TakePath(const Flag& flag, const std::string& directory,
                     std::string* path) {
  if (path->empty() || *path == "-") return "";
  if (path->starts_with("~/")) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') {
      return absl::StrCat(LongName(flag), " is `", *path,
                          "` in the configuration file, but HOME is not set: "
                          "write the whole path");
    }
    path->replace(0, 1, home);
    return "";
  }
  const std::string whole = (std::filesystem::path(directory) / *path).string();
  std::error_code unreadable;  // counts as missing
  if (std::string_view(flag.rules.value) == "DIR" &&
      !std::filesystem::exists(whole, unreadable) &&
      std::filesystem::exists(*path, unreadable)) {
    return absl::StrCat(
        LongName(flag), " is `", *path, "` in the configuration file, that is ",
        whole,
        ", which does not exist; the working directory has one of that name: "
        "write the whole path");
  }
  *path = whole;
  return "";
}

std::string Text(const std::string& value) { return value; }
template <typename Number>
std::string Text(Number value) {
  return absl::StrCat(value);
}

}  // namespace

std::string LongName(const Flag& flag) {
  const std::string names = flag.name;
  return names.substr(0, names.find(','));
}

bool IsSwitch(const Flag& flag) {
  return std::holds_alternative<bool*>(flag.target);
}

bool IsList(const Flag& flag) {
  return std::visit(
      [](auto* target) {
        return ElementOf<std::remove_pointer_t<decltype(target)>>::kList;
      },
      flag.target);
}

std::string SetFlag(const Flag& flag, const std::vector<std::string>& words) {
  return std::visit(
      [&](auto* target) -> std::string {
        using Target = ElementOf<std::remove_pointer_t<decltype(target)>>;
        std::vector<typename Target::Type> values;
        for (const std::string& word : words) {
          typename Target::Type value{};
          std::string problem = Parse(flag, word, &value);
          if (!problem.empty()) return problem;
          values.push_back(std::move(value));
        }
        if constexpr (Target::kList) {
          *target = std::move(values);
        } else {
          if (values.size() > 1 && !IsSwitch(flag))
            return absl::StrCat(LongName(flag), " takes one value, not ",
                                values.size());
          *target = values.back();
        }
        return "";
      },
      flag.target);
}

std::string TakeFromDirectory(const Flag& flag, const std::string& directory,
                              std::string* word) {
  bool is_path = false;
  for (const std::string& form : Words(flag.rules.value)) {
    const std::size_t prefix = form.find(':') + 1;  // 0: there is none
    const bool names_path = IsPathName(std::string_view(form).substr(prefix));
    is_path = is_path || (prefix == 0 && names_path);
    if (prefix == 0 || !word->starts_with(form.substr(0, prefix))) continue;
    if (!names_path) return "";
    std::string path = word->substr(prefix);
    std::string problem = TakePath(flag, directory, &path);
    word->replace(prefix, std::string::npos, path);
    return problem;
  }
  return is_path ? TakePath(flag, directory, word) : "";
}

std::string ValueName(const Flag& flag) {
  if (*flag.rules.value != '\0') return flag.rules.value;
  if (*flag.rules.one_of != '\0') return flag.rules.one_of;
  return std::visit(
      [&](auto* target) -> std::string {
        using Value =
            typename ElementOf<std::remove_pointer_t<decltype(target)>>::Type;
        if (std::is_same_v<Value, std::string>) return "TEXT";
        if (std::is_same_v<Value, double>) return "FLOAT";
        const WholeRange& range = flag.rules.range;
        const std::string type = std::is_signed_v<Value> ? "INT" : "UINT";
        if (range.least == 0 && range.most == 0) return type;
        return absl::StrCat(type, " in [", range.least, " - ", range.most, "]");
      },
      flag.target);
}

std::string DefaultText(const Flag& flag) {
  if (!flag.rules.shown) return "";
  return std::visit(
      [](auto* target) -> std::string {
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (ElementOf<Target>::kList) {
          return absl::StrJoin(*target, ",");
        } else if constexpr (std::is_same_v<Target,
                                            typename ElementOf<Target>::Type>) {
          return Text(*target);
        } else {
          return target->has_value() ? Text(**target) : "";
        }
      },
      flag.target);
}

}  // namespace dpnmf
