// `dpnmf-curator doctor`: the checklist for production of
// docs/reference/operations.md, point by point, before a curator is served.
#ifndef DPNMF_CURATOR_MAINTENANCE_DOCTOR_H_
#define DPNMF_CURATOR_MAINTENANCE_DOCTOR_H_

#include <cstdint>
#include <string>

#include "common/tls/tls.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::curator {

struct CuratorDoctorOptions {
  std::string data_dir;
  std::string anchor_dir;  // empty: served without an anchor
  TlsFiles tls;
  std::string allow_list;
  std::string federation;  // federation.json; empty: in none
  std::string audit_log;
  std::string metrics_listen;
  std::string backup;  // the latest one; empty: none is named
  bool paced = false;
  bool quick = false;  // what files of data sets and backups hold is not read
  int ranks = 0;       // of `serve --ranks`; 0: none
  bool private_network = false;
  std::int64_t now = 0;  // seconds since 1970
};

// Reads, and changes nothing (the audit log is made if missing). A server may
// run meanwhile. Findings are for the operator alone.
v1::DoctorReport ExamineCurator(const CuratorDoctorOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_DOCTOR_H_
