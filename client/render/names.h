// Short names of the wire's enumerations and ids.
#ifndef DPNMF_CLIENT_RENDER_NAMES_H_
#define DPNMF_CLIENT_RENDER_NAMES_H_

#include <string>
#include <string_view>

#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// "rdp", "replace_one", "l2", "running": the names that flags use. A value that
// this program does not know is "unknown".
std::string NameOf(v1::Conversion conversion);
std::string NameOf(v1::Adjacency adjacency);
std::string NameOf(v1::Normalisation normalisation);
std::string NameOf(v1::RunState state);

// The first 12 of a run's 32 digits, enough to name it to a person.
std::string ShortRunId(std::string_view run_id);

// "64 x 10".
std::string ShapeText(const v1::MatrixShape& shape);

// The epsilon of the conversion that the operator's policy enforces.
double EnforcedEpsilon(const v1::Epsilons& epsilons, v1::Conversion conversion);

// "epsilon 4 at delta 1e-05 (rdp, replace_one)", and VoidText if it was given
// up.
std::string GuaranteeText(const v1::Guarantee& guarantee);

// "VOID since 2026-11-22 10:00:00".
std::string VoidText(std::int64_t unix_seconds);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_NAMES_H_
