# The checks behind `dpnmf doctor`.
dpnmf_library(dpnmf_doctor LAYER analyst
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/doctor.cc ${CMAKE_CURRENT_LIST_DIR}/probe.cc
  DEPS dpnmf_base dpnmf_machine_checks dpnmf_rpc dpnmf_proto gRPC::grpc++ OpenSSL::SSL absl::strings)
