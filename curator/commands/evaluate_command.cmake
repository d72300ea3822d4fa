# dpnmf-curator evaluate
dpnmf_library(dpnmf_evaluate_command LAYER curator
  SOURCES evaluate_command.cc
  DEPS dpnmf_base dpnmf_data dpnmf_evaluate dpnmf_command_line dpnmf_interruption absl::strings
       absl::str_format absl::time)
