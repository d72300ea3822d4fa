// Who watches a server's work.
#ifndef DPNMF_COMMON_SERVER_OBSERVERS_H_
#define DPNMF_COMMON_SERVER_OBSERVERS_H_

#include "common/log/audit_log.h"
#include "common/server/metrics.h"

namespace dpnmf {

// Each may be null. They outlive the server.
struct Observers {
  AuditLog* audit = nullptr;
  Metrics* metrics = nullptr;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_OBSERVERS_H_
