#include "common/base/trace.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace dpnmf {
namespace {

thread_local const TraceScope* current = nullptr;

bool IsHex(std::string_view text, std::size_t size) {
  return text.size() == size &&
         std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     }) &&
         text.find_first_not_of('0') != std::string_view::npos;
}

std::string RandomHex(std::size_t digits) {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    // Only to tell requests apart.
    auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(ticks & 0xff);
      ticks >>= 4;
    }
  }
  bytes[0] |= 1;  // never all 0
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; 2 * i < digits; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

Trace NewTrace() { return {RandomHex(32), RandomHex(16)}; }

Trace NewRequest(const std::string& id) {
  return {IsHex(id, 32) ? id : RandomHex(32), RandomHex(16)};
}

std::string TraceparentOf(const Trace& trace) {
  return "00-" + trace.Text() + "-01";
}

std::optional<Trace> ParseTraceparent(std::string_view text) {
  if (text.size() != 55 || text.substr(0, 3) != "00-" || text[35] != '-' ||
      text[52] != '-' || !IsHex(text.substr(3, 32), 32) ||
      !IsHex(text.substr(36, 16), 16)) {
    return std::nullopt;
  }
  return Trace{std::string(text.substr(3, 32)),
               std::string(text.substr(36, 16))};
}

TraceScope::TraceScope(Trace trace)
    : trace_(std::move(trace)), outer_(current) {
  current = this;
}

TraceScope::~TraceScope() { current = outer_; }

const Trace* TraceScope::Current() {
  return current == nullptr ? nullptr : &current->trace_;
}

}  // namespace dpnmf
