// Two classes that a range of entries holds, and their release.
#ifndef DPNMF_TESTS_LAB_SYNTHESISE_SYNTHESISE_FIXTURES_H_
#define DPNMF_TESTS_LAB_SYNTHESISE_SYNTHESISE_FIXTURES_H_

#include "lab/synthesise/synthesise.h"

namespace dpnmf::curator::lab {

inline DatasetFacts TwoClasses() {
  DatasetFacts facts;
  facts.conversion = Conversion::kGaussian;
  facts.column_bound = 4;
  facts.classes = ClassFacts{.names = {"high", "low"}};
  facts.range = EntryRange{.low = 0, .high = 2};
  return facts;
}

// `people` people of four features, every third of the class "low".
inline Table TwoClassTable(int people, std::uint64_t seed = 3) {
  Draws draws(seed);
  Table table;
  table.columns = {"p", "q", "r", "s"};
  table.values.resize(people, 4);
  for (int n = 0; n < people; ++n) {
    const bool low = n % 3 == 0;
    table.classes.push_back(low ? "low" : "high");
    for (int d = 0; d < 4; ++d) {
      const double entry = (low ? 0.5 : 1.4) + 0.2 * draws.Normal();
      table.values(n, d) = entry < 0 ? 0 : entry > 2 ? 2 : entry;
    }
  }
  return table;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_SYNTHESISE_SYNTHESISE_FIXTURES_H_
