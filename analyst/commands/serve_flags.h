// The flags of serve, which doctor has too.
#ifndef DPNMF_ANALYST_COMMANDS_SERVE_FLAGS_H_
#define DPNMF_ANALYST_COMMANDS_SERVE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/cli/program.h"
#include "common/server/quota.h"
#include "common/tls/tls.h"

namespace dpnmf::analyst {

struct ServeFlags {
  std::string state_dir;
  std::string listen = "127.0.0.1:7432";
  std::string curator;
  std::string federation;  // federation.json; empty: none
  bool use_proxy = false;  // towards curators
  TlsFiles tls;
  std::string client_ca;
  std::string clients;
  std::string receipt_key;  // empty: recorded at the first receipt
  std::string log_level = "info";
  bool log_json = false;
  std::string audit_log;       // empty: STATE_DIR/audit.jsonl
  std::string metrics_listen;  // empty: no page
  int retain_days = 0;         // 0: for good
  int max_running = 16;
  int max_open_runs = 64;
  std::uint64_t run_memory_mebibytes = 0;  // 0: a quarter of the memory
  Quota::Limits limits = {.calls = 256};
  int silence_seconds = 600;
};

// `flags` outlives the table.
std::vector<Flag> FlagsOf(ServeFlags* flags);

std::string AuditFileOf(const ServeFlags& flags);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_COMMANDS_SERVE_FLAGS_H_
