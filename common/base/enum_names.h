// Names of the values of an enumeration, declared once in a table.
#ifndef DPNMF_COMMON_BASE_ENUM_NAMES_H_
#define DPNMF_COMMON_BASE_ENUM_NAMES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace dpnmf {

template <typename Enum, std::size_t size>
using EnumNames = std::array<std::pair<Enum, std::string_view>, size>;

// Returns the table of these pairs; a pair without a name does not compile.
template <typename Enum, std::size_t size>
consteval EnumNames<Enum, size> EnumNamesOf(
    const std::pair<Enum, std::string_view> (&pairs)[size]) {
  for (const auto& [value, name] : pairs)
    if (name.empty()) throw "a value without a name";
  return std::to_array(pairs);
}

// Returns "" if the table does not have the value.
template <typename Enum, std::size_t size>
constexpr std::string_view NameIn(const EnumNames<Enum, size>& names,
                                  Enum value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

// Returns nullopt if the table does not have the name.
template <typename Enum, std::size_t size>
constexpr std::optional<Enum> EnumOfName(const EnumNames<Enum, size>& names,
                                         std::string_view wanted) {
  for (const auto& [value, name] : names)
    if (name == wanted) return value;
  return std::nullopt;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_ENUM_NAMES_H_
