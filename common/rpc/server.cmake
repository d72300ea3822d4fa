#Running a gRPC server : start, signals, shutdown, idle calls.
dpnmf_library(dpnmf_server LAYER rpc SOURCES server.cc idle_guard.cc DEPS
                  dpnmf_base
                      gRPC::grpc++ gRPC::grpc++ _reflection absl::strings)
