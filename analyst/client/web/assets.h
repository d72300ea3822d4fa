// Files of analyst/client/web/assets, put into the program when it is built.
#ifndef DPNMF_ANALYST_CLIENT_WEB_ASSETS_H_
#define DPNMF_ANALYST_CLIENT_WEB_ASSETS_H_

#include <string_view>

namespace dpnmf::cli::web {

extern const std::string_view kIndexPage;
extern const std::string_view kClosedPage;   // with a place for @SENTENCE@
extern const std::string_view kClosedStyle;  // of that page alone
extern const std::string_view kPageStyle;
extern const std::string_view kIcon;
// Modules; each imports others by file name.
extern const std::string_view kAppScript;      // views and their addresses
extern const std::string_view kCallsScript;    // calls to this program
extern const std::string_view kDomScript;      // elements, numbers, dialogs
extern const std::string_view kDrawScript;     // gauges, plots, parts
extern const std::string_view kDataScript;     // view: data sets
extern const std::string_view kPlanScript;     // view: plan and start
extern const std::string_view kRunsScript;     // view: runs
extern const std::string_view kRunScript;      // view: one run
extern const std::string_view kCompareScript;  // view: two runs
extern const std::string_view kLedgerScript;   // view: ledgers and receipts

}  // namespace dpnmf::cli::web

#endif  // DPNMF_ANALYST_CLIENT_WEB_ASSETS_H_
