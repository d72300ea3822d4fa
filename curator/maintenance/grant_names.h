// Names in the allow-list that nothing has: grants of them grant nothing, and
// nobody is told.
#ifndef DPNMF_CURATOR_MAINTENANCE_GRANT_NAMES_H_
#define DPNMF_CURATOR_MAINTENANCE_GRANT_NAMES_H_

#include <string>
#include <vector>

#include "common/access/allow_list.h"

namespace dpnmf::curator {

// A sentence for each name of a data set or a population in the grants that is
// not among the known ones, with the nearest known name if one is near. "*" is
// every data set.
std::vector<std::string> UnknownGrantNames(
    const std::vector<Grant>& grants, const std::vector<std::string>& datasets,
    const std::vector<std::string>& populations);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_GRANT_NAMES_H_
