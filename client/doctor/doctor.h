// The checks behind `dpnmf doctor`: from the files on this machine to the
// answer of the server, each with a finding and what to do.
//
//   ca file, certificate file, key file
//   certificate dates, names, signature, purpose, key, revocation list
//   address, proxy, proxy connection, name resolution, port
//   tls handshake, server signature, server name, server dates, own certificate
//   accepted, clock
//   service, version
//   disk
//
// A check that needs what an earlier one found missing is left out.
#ifndef DPNMF_CLIENT_DOCTOR_DOCTOR_H_
#define DPNMF_CLIENT_DOCTOR_DOCTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/tls/tls.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

struct DoctorOptions {
  std::string server;  // HOST:PORT of the analyst's server
  TlsFiles tls;
  bool use_proxy = false;
  // Directory for results; its free space is checked.
  std::string data_directory = ".";
  std::string version;  // of this program
  // Limit of each step that waits for the server.
  std::chrono::milliseconds timeout{5000};
  // Seconds since 1970. Default: the system's clock.
  std::function<std::int64_t()> unix_seconds;
};

// Each check's result is "ok", "warning" or "failed"; the report is ok if none
// failed. Takes up to a few timeouts. Changes nothing.
v1::DoctorReport RunDoctor(const DoctorOptions& options);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_DOCTOR_DOCTOR_H_
