// Finds names of features on two sides: those that are known, and a file's.
#ifndef DPNMF_COMMON_FILES_MATCH_NAMES_H_
#define DPNMF_COMMON_FILES_MATCH_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace dpnmf {

struct NameMatch {
  // Index in the file of each known name's partner; -1: none.
  std::vector<std::ptrdiff_t> places;
  std::size_t found = 0;  // known names with a partner
  // A known name and its partner, "visits (VISITS)", for those that are spelled
  // differently.
  std::vector<std::string> respelled;
};

// The partner of a known name is the same name in the file (the first one);
// else one that differs in capitals alone; else one that differs in the version
// behind an accession alone (ENSG00000141510 and ENSG00000141510.16). In the
// last two cases no other name of either side may be meant. Blanks around a
// name do not count, and an empty name has no partner.
NameMatch MatchNames(const std::vector<std::string>& known,
                     const std::vector<std::string>& file);

// "90 of 96 features were found by name; spelled differently: 'x (X)'; left
// out: 'sex'".
std::string MatchText(std::size_t found, std::size_t features,
                      const std::vector<std::string>& respelled,
                      const std::vector<std::string>& left_out);

// "'a', 'b', 'c' and 4 more".
std::string ExamplesOf(const std::vector<std::string>& names);

// Says that no name has a partner, with examples of both sides.
std::string NoNameFound(const std::vector<std::string>& known,
                        const std::vector<std::string>& file);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_MATCH_NAMES_H_
