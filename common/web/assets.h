// Files of common/web/assets, put into a program when it is built: what pages
// have in common.
#ifndef DPNMF_COMMON_WEB_ASSETS_H_
#define DPNMF_COMMON_WEB_ASSETS_H_

#include <string_view>

namespace dpnmf {

extern const std::string_view kClosedPage;   // with a place for @SENTENCE@
extern const std::string_view kClosedStyle;  // of that page alone
extern const std::string_view kPageStyle;
extern const std::string_view kIcon;
// Modules; each imports others by file name.
extern const std::string_view kFrameScript;  // views, their addresses, trouble
extern const std::string_view kCallsScript;  // calls to the program
extern const std::string_view kDomScript;    // elements, numbers, dialogs
extern const std::string_view kDrawScript;   // gauges, plots, parts

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_ASSETS_H_
