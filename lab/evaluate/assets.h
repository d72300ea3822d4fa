// Files of lab/evaluate/assets, put into the program when it is built.
#ifndef DPNMF_LAB_EVALUATE_ASSETS_H_
#define DPNMF_LAB_EVALUATE_ASSETS_H_

#include <string_view>

namespace dpnmf::curator::lab {

extern const std::string_view kDrawingScript;  // what both reports draw with
extern const std::string_view kReportScript;   // of matrices
extern const std::string_view kRatingsScript;  // of ratings
extern const std::string_view kReportStyle;
extern const std::string_view kReportPage;  // report.html with places to fill

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_ASSETS_H_
