// uPlot (MIT), put into the programs that show plots when they are built.
#ifndef DPNMF_COMMON_PLOT_UPLOT_H_
#define DPNMF_COMMON_PLOT_UPLOT_H_

#include <string_view>

namespace dpnmf {

extern const std::string_view kPlotScript;  // defines uPlot
extern const std::string_view kPlotStyle;
extern const std::string_view kPlotLicense;

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PLOT_UPLOT_H_
