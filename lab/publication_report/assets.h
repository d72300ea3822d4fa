// Put into the program when it is built.
#ifndef DPNMF_LAB_PUBLICATION_REPORT_ASSETS_H_
#define DPNMF_LAB_PUBLICATION_REPORT_ASSETS_H_

#include <string_view>

namespace dpnmf::curator::lab {

extern const std::string_view kPublicationScript;  // assets/publication.js

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_PUBLICATION_REPORT_ASSETS_H_
