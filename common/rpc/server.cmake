# Running a gRPC server: start, signals, shutdown, idle calls, health.
dpnmf_library(dpnmf_server LAYER rpc
  SOURCES health.cc idle_guard.cc server.cc
  DEPS dpnmf_base dpnmf_rpc dpnmf_proto gRPC::grpc++ gRPC::grpc++_reflection absl::strings)
