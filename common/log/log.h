// The log of a server, in one file so that others need not read spdlog's
// headers. Thread-safe. common/server/server_log.h says where entries go and in
// what shape.
#ifndef DPNMF_COMMON_LOG_LOG_H_
#define DPNMF_COMMON_LOG_LOG_H_

#include <initializer_list>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace dpnmf {

enum class LogLevel { kInfo, kWarning, kError };

// Writes `format` with its n-th "{}" replaced by the n-th value. A "{}" without
// a value stays; values without a "{}" are left out.
void Log(LogLevel level, std::string_view format,
         std::initializer_list<absl::string_view> values);

// LogInfo("run {} closed", id): values are strings and numbers, as for StrCat.
template <typename... Values>
void LogInfo(std::string_view format, const Values&... values) {
  Log(LogLevel::kInfo, format, {absl::AlphaNum(values).Piece()...});
}
template <typename... Values>
void LogWarning(std::string_view format, const Values&... values) {
  Log(LogLevel::kWarning, format, {absl::AlphaNum(values).Piece()...});
}
template <typename... Values>
void LogError(std::string_view format, const Values&... values) {
  Log(LogLevel::kError, format, {absl::AlphaNum(values).Piece()...});
}

// level: info, warn, error or off. Entries below it are dropped.
void SetLogLevel(std::string_view level);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_LOG_LOG_H_
