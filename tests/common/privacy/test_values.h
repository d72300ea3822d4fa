// Values that the tests of common/privacy share.
#ifndef DPNMF_TESTS_COMMON_PRIVACY_TEST_VALUES_H_
#define DPNMF_TESTS_COMMON_PRIVACY_TEST_VALUES_H_

#include <limits>

#include "common/privacy/accounting.h"

namespace dpnmf {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr Conversion kConversions[] = {
    Conversion::kRdp, Conversion::kRdpOptimal, Conversion::kGaussian};

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_PRIVACY_TEST_VALUES_H_
