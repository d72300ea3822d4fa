// An import of a file that has a person in each row.
#ifndef DPNMF_TESTS_CURATOR_IMPORT_ROWS_IMPORT_H_
#define DPNMF_TESTS_CURATOR_IMPORT_ROWS_IMPORT_H_

#include <string>

#include "curator/import/import.h"
#include "tests/curator/import/import_all.h"

namespace dpnmf::curator {

// Makes data set `name` of a population with this cap; the rest has its
// defaults.
inline ImportOptions RowsImport(const std::string& data_dir,
                                const std::string& input,
                                const std::string& name,
                                const std::string& population, double epsilon,
                                double delta) {
  ImportOptions options;
  options.data_dir = data_dir;
  options.input = input;
  options.users_are_rows = true;
  options.name = name;
  options.population = population;
  options.epsilon = epsilon;
  options.delta = delta;
  return options;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_IMPORT_ROWS_IMPORT_H_
