// What is left of a budget, in the terms in which a run asks for it.
#ifndef DPNMF_ANALYST_CLI_RENDER_LEFT_H_
#define DPNMF_ANALYST_CLI_RENDER_LEFT_H_

#include <string>

#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf::cli {

// The largest --epsilon at `delta` of a single run that the position has room
// for, rounded down to four digits; "unknown" if the position cannot be read.
std::string LeftForOneRun(const v1::LedgerPosition& position,
                          v1::Conversion conversion, double delta);

// The epsilon of all that is charged and reserved, rounded up: a reading.
std::string CommittedEpsilon(const v1::LedgerPosition& position,
                             v1::Conversion conversion, double delta);

// The mu^2 of all that is charged and reserved and of `more`, rounded up.
std::string CommittedCost(const v1::LedgerPosition& position,
                          const v1::MuSquared& more);

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLI_RENDER_LEFT_H_
