// The parts of two runs in pairs.
#ifndef DPNMF_CLIENT_SESSION_MATCHED_PARTS_H_
#define DPNMF_CLIENT_SESSION_MATCHED_PARTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/session/client.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

// Pairs by descending cosine, each part once: the best pair of all parts, then
// the best of what is left. INVALID_ARGUMENT "features-differ" unless both runs
// have the same number of features; errors of AnalystClient::GetModel and of
// CheckIsDictionary.
absl::StatusOr<v1::CompareReport> CompareRuns(const AnalystClient& client,
                                              const std::string& first,
                                              const std::string& second);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_MATCHED_PARTS_H_
