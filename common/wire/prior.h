// Public knowledge on its way to the analyst's server (dpnmf.v1.Prior).
#ifndef DPNMF_COMMON_WIRE_PRIOR_H_
#define DPNMF_COMMON_WIRE_PRIOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "Eigen/Core"

namespace dpnmf {

// Numbers of one prior: entries, or three for each that is not zero.
inline constexpr std::uint64_t kMostPriorEntries = std::uint64_t{1} << 25;
// Columns without an entry, of all priors of a run that are sent as triples:
// what is kept of a column takes memory that nobody has sent.
inline constexpr std::uint64_t kMostEmptyColumns = std::uint64_t{1} << 20;
inline constexpr std::size_t kMostPriorSource = 256;
// A message of names ends with the name that brings it to so many bytes.
inline constexpr std::size_t kPriorNamesBytes = std::size_t{1} << 20;

// 32 bytes: SHA-256 over the count of names, the names, rows and columns of the
// matrix that is sent, and its entries, column-major, little-endian.
std::string HashOfPrior(const std::vector<std::string>& names,
                        const Eigen::MatrixXd& entries);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_PRIOR_H_
