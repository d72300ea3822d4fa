// A ledger position as text: what is spent, and the largest run that still fits
// (common/privacy/budget.h). "unknown" if the position cannot be read.
#ifndef DPNMF_CLIENT_RENDER_POSITION_TEXT_H_
#define DPNMF_CLIENT_RENDER_POSITION_TEXT_H_

#include <string>

#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf::cli {

// The largest --epsilon at `delta` of one more run (RoomOf the position),
// rounded down to four digits: accepted as it is shown; "0" if IsUsedUp.
std::string LargestRunText(const v1::LedgerPosition& position,
                           v1::Conversion conversion, double delta);

// The epsilon of all that is charged and reserved, rounded up: a reading.
std::string SpentAndReservedText(const v1::LedgerPosition& position,
                                 v1::Conversion conversion, double delta);

// The mu^2 of all that is charged and reserved and of `more`, rounded up.
std::string CostWithText(const v1::LedgerPosition& position,
                         const v1::MuSquared& more);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_POSITION_TEXT_H_
