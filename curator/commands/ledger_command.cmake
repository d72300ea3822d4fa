# dpnmf-curator ledger show|verify|anchor
dpnmf_library(dpnmf_ledger_command LAYER curator
  SOURCES compare_receipts.cc ledger_command.cc
  DEPS dpnmf_audit_log dpnmf_base dpnmf_privacy dpnmf_rpc dpnmf_proto dpnmf_ledger dpnmf_curator_service dpnmf_error_report dpnmf_place_flags
       CLI11::CLI11 absl::strings absl::str_format absl::time)
