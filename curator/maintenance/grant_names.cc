#include "curator/maintenance/grant_names.h"

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/cli/usage.h"

namespace dpnmf::curator {
namespace {

// The identities that are granted something, by its name.
using Granted = std::map<std::string, std::vector<std::string>>;

std::string Enumerate(std::vector<std::string> names) {
  constexpr std::size_t kMost = 10;
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// thing: "data set" or "population".
void AppendUnknown(const std::string& thing, const Granted& granted,
                   const std::vector<std::string>& known,
                   std::vector<std::string>* sentences) {
  for (const auto& [name, identities] : granted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string hint = Proposal(name, known);
    if (hint.empty())
      hint = known.empty()
                 ? " (there is none)"
                 : absl::StrCat(" (there are: ", Enumerate(known), ")");
    sentences->push_back(absl::StrCat(
        "There is no ", thing, " `", absl::Utf8SafeCHexEscape(name), "`", hint,
        "; it is listed for ", Enumerate(identities), "."));
  }
}

}  // namespace

std::vector<std::string> UnknownGrantNames(
    const std::vector<Grant>& grants, const std::vector<std::string>& datasets,
    const std::vector<std::string>& populations) {
  Granted of_datasets, of_populations;
  for (const Grant& grant : grants) {
    for (const std::string& name : grant.datasets)
      of_datasets[name].push_back(grant.identity);
    for (const auto& [name, epsilon] : grant.epsilon_by_population)
      of_populations[name].push_back(grant.identity);
  }
  std::vector<std::string> sentences;
  AppendUnknown("data set", of_datasets, datasets, &sentences);
  AppendUnknown("population", of_populations, populations, &sentences);
  return sentences;
}

}  // namespace dpnmf::curator
