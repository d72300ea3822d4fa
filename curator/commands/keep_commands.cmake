# dpnmf-curator backup|restore|forget
dpnmf_library(dpnmf_keep_commands LAYER curator
  SOURCES keep_commands.cc
  DEPS dpnmf_audit_log dpnmf_base dpnmf_keep dpnmf_ledger dpnmf_error_report dpnmf_place_flags CLI11::CLI11
       absl::str_format)
