// Answers of a serving curator to its operator's page.
#ifndef DPNMF_CURATOR_COMMANDS_STATUS_HANDLERS_H_
#define DPNMF_CURATOR_COMMANDS_STATUS_HANDLERS_H_

#include "curator/commands/flags/serve_flags.h"
#include "curator/control/control.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"

namespace dpnmf::curator {

// "status" (curator/maintenance/status.h) and "doctor" (the report of the
// command doctor). Neither changes anything, and no field depends on the data.
// `ledger` and `catalog` outlive the handlers, which one thread at a time may
// call.
ControlHandlers StatusHandlers(const ServeOptions& options,
                               const Ledger* ledger, const Catalog* catalog);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_STATUS_HANDLERS_H_
