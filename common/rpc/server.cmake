# Metrics of a server.
dpnmf_library(dpnmf_metrics LAYER rpc
  SOURCES metrics.cc
  DEPS dpnmf_base dpnmf_rpc prometheus-cpp::core prometheus-cpp::pull absl::strings)
# Running a gRPC server: start, signals, shutdown, idle calls, health, who may
# call, what is written down of a call, logs.
dpnmf_library(dpnmf_server LAYER rpc
  SOURCES call_gate.cc call_record.cc health.cc idle_guard.cc refused_calls.cc server.cc server_log.cc
  DEPS dpnmf_audit_log dpnmf_base dpnmf_log dpnmf_metrics dpnmf_rpc dpnmf_proto gRPC::grpc++
       gRPC::grpc++_reflection nlohmann_json::nlohmann_json spdlog::spdlog
       absl::strings absl::str_format)
