// --loss and --sparse: by what W is fitted to a release of moments.
#ifndef DPNMF_CLIENT_FLAGS_LAW_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_LAW_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "common/cli/program.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// Flags as typed; a flag that is not given is empty.
struct LawFlags {
  std::string loss;
  std::optional<double> sparse;
};

// `flags` outlives the table.
std::vector<Flag> FlagsOfLaw(LawFlags* flags);

// Puts the given flags into `learner`. The server checks them.
void SetLaw(const LawFlags& flags, v1::LearnerOptions* learner);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_LAW_FLAGS_H_
