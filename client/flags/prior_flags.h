// --prior: public knowledge that W is fitted with, read and made ready to send.
#ifndef DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/session/client.h"
#include "common/cli/program.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

struct PriorFlags {
  // Each "FILE", "dictionary:FILE", "moment:FILE" or "run:ID".
  std::vector<std::string> priors;
  std::string users = "columns";  // how the people of a FILE lie
};

// --prior and --users. `flags` outlives the table.
std::vector<Flag> FlagsOfPriors(PriorFlags* flags);

// Reads the files: .npy and .csv as ReadMatrixFile does, .mtx (coordinate or
// array). Features have names where a .csv has them: the first column if its
// header begins with "feature", or the header if people are rows.
// find_run(text): the whole id of a run. Errors of ReadMatrixFile and find_run;
// INVALID_ARGUMENT "mtx-malformed", "prior-negative", "prior-too-large".
absl::StatusOr<std::vector<PriorToSend>> ReadPriors(
    const PriorFlags& flags,
    const std::function<absl::StatusOr<std::string>(const std::string&)>&
        find_run);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_
