// Files of curator/web/assets, put into the program when it is built.
// common/web/assets.h has those that all pages share.
#ifndef DPNMF_CURATOR_WEB_ASSETS_H_
#define DPNMF_CURATOR_WEB_ASSETS_H_

#include <string_view>

namespace dpnmf::curator::web {

extern const std::string_view kOperatorPage;
extern const std::string_view kOperatorScript;  // its views

}  // namespace dpnmf::curator::web

#endif  // DPNMF_CURATOR_WEB_ASSETS_H_
