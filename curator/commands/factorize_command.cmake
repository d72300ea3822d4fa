# dpnmf-curator factorize
dpnmf_library(dpnmf_factorize_command LAYER curator
  SOURCES factorize_command.cc
  DEPS dpnmf_base dpnmf_rpc dpnmf_proto dpnmf_data dpnmf_factor dpnmf_command_line dpnmf_interruption
       absl::strings absl::str_format)
