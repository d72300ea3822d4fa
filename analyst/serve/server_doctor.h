// `dpnmf-analyst doctor`: the checklist for production of
// docs/reference/operations.md, point by point, before an analyst is served.
#ifndef DPNMF_ANALYST_SERVE_SERVER_DOCTOR_H_
#define DPNMF_ANALYST_SERVE_SERVER_DOCTOR_H_

#include <cstdint>
#include <string>

#include "common/tls/tls.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::analyst {

struct AnalystDoctorOptions {
  std::string state_dir;
  std::string curator;     // HOST:PORT; may be empty with a federation
  std::string federation;  // federation.json; empty: none
  bool use_proxy = false;  // towards curators
  std::string listen;      // HOST:PORT; empty: not looked at
  TlsFiles tls;            // towards the curator
  TlsFiles client_tls;     // towards clients
  std::string clients;
  std::string receipt_key;  // the curator's receipt.pub; empty: not given
  std::string audit_log;
  std::string metrics_listen;
  std::int64_t now = 0;  // seconds since 1970
};

// Asks the curator which data sets it offers; changes nothing (the audit log is
// made if missing). A server may run meanwhile.
v1::DoctorReport ExamineAnalyst(const AnalystDoctorOptions& options);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_SERVE_SERVER_DOCTOR_H_
