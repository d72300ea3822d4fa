// Files of client/web/assets, put into the program when it is built.
// common/web/assets.h has those that all pages share.
#ifndef DPNMF_CLIENT_WEB_ASSETS_H_
#define DPNMF_CLIENT_WEB_ASSETS_H_

#include <string_view>

namespace dpnmf::cli::web {

extern const std::string_view kIndexPage;
// Modules; each imports others by file name.
extern const std::string_view kAppScript;      // which views there are
extern const std::string_view kModelsScript;   // W, its errors, its parts
extern const std::string_view kDataScript;     // view: data sets
extern const std::string_view kPlanScript;     // view: plan and start
extern const std::string_view kRunsScript;     // view: runs
extern const std::string_view kRunScript;      // view: one run
extern const std::string_view kCompareScript;  // view: two runs
extern const std::string_view kLedgerScript;   // view: ledgers and receipts

}  // namespace dpnmf::cli::web

#endif  // DPNMF_CLIENT_WEB_ASSETS_H_
