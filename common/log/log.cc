#include "common/log/log.h"

#include <string>

#include "spdlog/spdlog.h"

namespace dpnmf {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  if (level == LogLevel::kError) return spdlog::level::err;
  return level == LogLevel::kWarning ? spdlog::level::warn
                                     : spdlog::level::info;
}

}  // namespace

void Log(LogLevel level, std::string_view format,
         std::initializer_list<absl::string_view> values) {
  std::string text;
  for (const absl::string_view value : values) {
    const std::size_t at = format.find("{}");
    if (at == std::string_view::npos) break;
    text.append(format.substr(0, at)).append(value.data(), value.size());
    format.remove_prefix(at + 2);
  }
  text.append(format);
  spdlog::default_logger_raw()->log(LevelOf(level),
                                    spdlog::string_view_t(text));
}

void SetLogLevel(std::string_view level) {
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

}  // namespace dpnmf
