// --prior: public knowledge that W is fitted with, read and made ready to send.
#ifndef DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_

#include <functional>
#include <ostream>
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
  // How the people of a FILE lie; empty: in rows, and a file that may be read
  // either way is refused.
  std::string users;
};

// --prior and --users. `flags` outlives the table.
std::vector<Flag> FlagsOfPriors(PriorFlags* flags);

// Reads the files as LoadTable does, with the names of features that they have.
// find_run(text): the whole id of a run. Errors of LoadTable and
// find_run; INVALID_ARGUMENT "prior-shape-invalid", "prior-too-large".
absl::StatusOr<std::vector<PriorToSend>> ReadPriors(
    const PriorFlags& flags,
    const std::function<absl::StatusOr<std::string>(const std::string&)>&
        find_run);

// Tells a person how the features of each file become those of the run.
// `features`: names of the run's; if empty, they are not known here.
void NotePriors(const std::vector<PriorToSend>& priors,
                const std::vector<std::string>& features, std::ostream* err);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_PRIOR_FLAGS_H_
