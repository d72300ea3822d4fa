#include "common/server/server_log.h"

#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "common/base/trace.h"
#include "common/log/log.h"
#include "common/tls/tls.h"
#include "grpc/support/log.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace dpnmf {
namespace {

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    nlohmann::ordered_json line;
    line["time"] = TimeOf(message.time);
    const auto level = spdlog::level::to_string_view(message.level);
    line["level"] = std::string(level.data(), level.size());
    line["program"] =
        std::string(message.logger_name.data(), message.logger_name.size());
    if (const Trace* const trace = TraceScope::Current(); trace != nullptr)
      line["request"] = trace->Text();
    line["message"] =
        std::string(message.payload.data(), message.payload.size());
    const std::string text = line.dump(
        -1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    out.append(text.data(), text.data() + text.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  static std::string TimeOf(std::chrono::system_clock::time_point time) {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(
            time.time_since_epoch())
            .count();
    const std::time_t seconds = milliseconds / 1000;
    std::tm parts{};
    char text[32] = "";
    gmtime_r(&seconds, &parts);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    return absl::StrFormat("%s.%03dZ", text, milliseconds % 1000);
  }
};

// Logs messages that gRPC would itself write to standard error.
void LogOfGrpc(gpr_log_func_args* line) {
  const std::string message = line->message;
  switch (line->severity) {
    case GPR_LOG_SEVERITY_ERROR:
      LogError("gRPC: {}", message);
      break;
    case GPR_LOG_SEVERITY_INFO:
    case GPR_LOG_SEVERITY_DEBUG:  // only with GRPC_VERBOSITY
      LogInfo("gRPC: {}", message);
      break;
  }
}

}  // namespace

void SetUpLog(const std::string& program, const std::string& level,
              LogFormat format) {
  spdlog::drop(program);
  spdlog::set_default_logger(spdlog::stderr_logger_mt(program));
  if (format == LogFormat::kJson) {
    spdlog::set_formatter(std::make_unique<JsonFormatter>());
  } else {
    spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  }
  SetLogLevel(level);
  spdlog::flush_on(spdlog::level::info);
  gpr_set_log_function(LogOfGrpc);
}

void LogRefusedPeers(Metrics* metrics) {
  OnPeerRefused(
      [metrics](const std::string& code, const std::string& sentence) {
        LogWarning("a peer was refused: {} [{}]", sentence, code);
        if (metrics != nullptr) metrics->PeerRefused(code);
      });
}

}  // namespace dpnmf
