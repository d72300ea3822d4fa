#include "tests/attacks/taint.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace dpnmf::curator {
namespace {

constexpr int kLeastDigits = 6, kMostDigits = 17;
constexpr std::size_t kLeastBytes = 5;

std::string Rounded(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, number);
  return text;
}

// Digits that tell the number from others: those of 0.5 are one.
int SignificantDigits(double number) {
  for (int digits = 1; digits < kMostDigits; ++digits) {
    if (std::strtod(Rounded(number, digits).c_str(), nullptr) == number)
      return digits;
  }
  return kMostDigits;
}

std::string LittleEndian(std::uint64_t bits) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
  return bytes;
}

std::string Varint(std::uint64_t bits) {
  std::string bytes;
  for (; bits >= 0x80; bits >>= 7)
    bytes += static_cast<char>((bits & 0x7f) | 0x80);
  return bytes + static_cast<char>(bits);
}

// From the first to the last byte that is not zero.
std::size_t SignificantBytes(const std::string& bytes) {
  const std::size_t first = bytes.find_first_not_of('\0');
  return first == std::string::npos ? 0
                                    : bytes.find_last_not_of('\0') - first + 1;
}

bool OfNumber(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

}  // namespace

void Taint::AddText(double number) {
  number = std::abs(number);
  if (!std::isfinite(number) || SignificantDigits(number) < kLeastDigits)
    return;
  names_.insert(Rounded(number, kMostDigits));
  for (int digits = kLeastDigits; digits <= kMostDigits; ++digits)
    texts_.insert(Rounded(number, digits));
}

void Taint::AddBytes(std::string pattern, const std::string& name) {
  if (SignificantBytes(pattern) < kLeastBytes) return;
  patterns_[pattern.substr(0, kLeastBytes)][pattern] = name;
}

void Taint::Add(double number) {
  AddText(number);
  std::string bytes = LittleEndian(std::bit_cast<std::uint64_t>(number));
  const std::string name = Rounded(number, kMostDigits);
  AddBytes(bytes, name + " as a double");
  std::ranges::reverse(bytes);
  AddBytes(bytes, name + " as a big-endian double");
}

void Taint::Add(std::int64_t number) {
  AddText(static_cast<double>(number));
  const auto bits = static_cast<std::uint64_t>(number);
  std::string bytes = LittleEndian(bits);
  const std::string name = std::to_string(number);
  const bool wide = SignificantBytes(bytes) >= kLeastBytes;
  AddBytes(bytes, name + " as an integer");
  std::ranges::reverse(bytes);
  AddBytes(bytes, name + " as a big-endian integer");
  if (!wide) return;
  integers_.insert(number < 0 ? name.substr(1) : name);
  AddBytes(Varint(bits), name + " as a varint");
  AddBytes(Varint((bits << 1) ^ (number < 0 ? ~std::uint64_t{0} : 0)),
           name + " as a zigzag varint");
}

std::string Taint::FoundInText(std::string_view bytes) const {
  for (std::size_t at = 0; at < bytes.size();) {
    if (!OfNumber(bytes[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < bytes.size() && OfNumber(bytes[end])) ++end;
    const std::string_view mantissa = bytes.substr(at, end - at);
    // An exponent belongs to it.
    std::size_t after = end;
    if (after < bytes.size() && (bytes[after] == 'e' || bytes[after] == 'E')) {
      ++after;
      if (after < bytes.size() && (bytes[after] == '-' || bytes[after] == '+'))
        ++after;
      while (after < bytes.size() &&
             std::isdigit(static_cast<unsigned char>(bytes[after])))
        ++after;
    }
    const std::string token(bytes.substr(at, after - at));
    at = after;
    int digits = 0;
    bool leading = true;
    for (const char c : mantissa) {
      if (c == '.' || (leading && c == '0')) continue;
      leading = false;
      ++digits;
    }
    if (digits < kLeastDigits) continue;
    if (integers_.contains(token)) return token + " as text";
    // Doubles do not tell integers of so many digits apart.
    if (digits >= kMostDigits && mantissa.find('.') == std::string_view::npos)
      continue;
    const std::string rounded = Rounded(std::strtod(token.c_str(), nullptr),
                                        std::min(digits, kMostDigits));
    if (texts_.contains(rounded)) return rounded + " as text";
  }
  return "";
}

std::string Taint::FoundInBytes(std::string_view bytes) const {
  for (std::size_t at = 0; at + kLeastBytes <= bytes.size(); ++at) {
    const auto found =
        patterns_.find(std::string(bytes.substr(at, kLeastBytes)));
    if (found == patterns_.end()) continue;
    for (const auto& [pattern, name] : found->second)
      if (bytes.substr(at).starts_with(pattern)) return name;
  }
  return "";
}

std::string Taint::FoundIn(std::string_view bytes) const {
  if (std::string found = FoundInText(bytes); !found.empty()) return found;
  if (std::string found = FoundInBytes(bytes); !found.empty()) return found;
  // Every run of hexadecimal digits, read from either of its first two.
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at;
    while (end < bytes.size() &&
           std::isxdigit(static_cast<unsigned char>(bytes[end])))
      ++end;
    for (const std::size_t from : {at, at + 1}) {
      if (from >= end || end - from < 2 * kLeastBytes) continue;
      const std::size_t size = (end - from) / 2 * 2;
      const std::string raw =
          absl::HexStringToBytes(std::string(bytes.substr(from, size)));
      if (std::string found = FoundInBytes(raw); !found.empty())
        return found + " in hexadecimal";
    }
    at = std::max(end, at + 1);
  }
  return "";
}

}  // namespace dpnmf::curator
