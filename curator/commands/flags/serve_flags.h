// The flags of serve, which doctor has too.
#ifndef DPNMF_CURATOR_COMMANDS_FLAGS_SERVE_FLAGS_H_
#define DPNMF_CURATOR_COMMANDS_FLAGS_SERVE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/cli/program.h"
#include "common/server/quota.h"
#include "common/tls/tls.h"
#include "curator/maintenance/doctor.h"
#include "curator/ranks/rank_job.h"

namespace dpnmf::curator {

struct ServeOptions {
  std::string data_dir;
  std::string anchor_dir;
  bool no_anchor = false;
  std::string listen = "127.0.0.1:7431";
  TlsFiles tls;
  std::string allow_list;
  int threads = 0;
  int idle_seconds = 600;
  Quota::Limits limits;
  std::uint64_t run_memory_mebibytes = 0;  // 0: DefaultRunMemoryLimit
  std::uint64_t most_uncharged_runs = 1000;
  int pace_milliseconds = 0;                   // 0: not paced
  std::optional<std::uint64_t> pace_nonzeros;  // of all sparse data sets
  struct {
    int ranks = 0;  // 0: all sums are computed in this process
    std::string hosts, mpi_run;
    bool private_network = false;
    int seconds = 600;
  } ranks;
  std::string log_level = "info";
  bool log_json = false;
  std::string audit_log;       // empty: DATA_DIR/audit.jsonl
  std::string metrics_listen;  // empty: no page
  std::string federation;      // federation.json; empty: in none
  // RecommendService; off if `listen` is empty.
  struct {
    std::string listen, dataset, model, token_key;
    std::string audience;  // empty: the data set's name
  } recommend;
};

// `options` outlives the table.
std::vector<Flag> ServeFlags(ServeOptions* options);

std::string AuditFileOf(const ServeOptions& options);

// The job of --ranks, with dpnmf-ranks beside this program.
RankJobOptions RankJobOptionsOf(const ServeOptions& options);

// Options for going through the checklist now; no backup is named.
CuratorDoctorOptions DoctorOptionsOf(const ServeOptions& options);

// INVALID_ARGUMENT "address-malformed", "flags-conflict". Before anything is
// opened: a slip of the pen needs no second look.
absl::Status CheckAddresses(const ServeOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_FLAGS_SERVE_FLAGS_H_
