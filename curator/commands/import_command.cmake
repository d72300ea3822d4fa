dpnmf_library(dpnmf_import_command LAYER curator
  SOURCES import_command.cc
  DEPS dpnmf_base dpnmf_privacy dpnmf_rpc dpnmf_proto dpnmf_data dpnmf_ledger
       dpnmf_curator_service dpnmf_error_report CLI11::CLI11
       absl::strings absl::str_format)
