// Identifiers of runs, as an analyst's server chooses them.
#ifndef DPNMF_TESTS_CURATOR_SERVE_RUN_IDS_H_
#define DPNMF_TESTS_CURATOR_SERVE_RUN_IDS_H_

namespace dpnmf::curator {

inline constexpr char kRun[] = "0123456789abcdef0123456789abcdef";
inline constexpr char kOtherRun[] = "fedcba9876543210fedcba9876543210";

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_SERVE_RUN_IDS_H_
