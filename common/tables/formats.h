// The file formats that can be read. The file common/tables/format/NAME.cc
// defines kNameFormat; the files of that folder are the list.
#ifndef DPNMF_COMMON_TABLES_FORMATS_H_
#define DPNMF_COMMON_TABLES_FORMATS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/name_table.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"

namespace dpnmf {

struct InputFormat {
  std::string_view name;   // of --format-in
  std::string_view title;  // of help texts
  // End of a file's name, in lower case and without .gz; empty: none.
  std::string_view extension = "";
  // First bytes of a file, in upper or lower case; empty: nothing certain.
  std::string_view signature = "";
  // A file has entries of named items, not rows and columns: items and the
  // number of people must be declared.
  bool declares_people = false;
  // Reads LoadOptions::class_column, id_column, label_columns, columns and
  // delimiter.
  bool has_fields = false;
  // Reads LoadOptions::array.
  bool has_arrays = false;
  // Errors of LoadMatrix.
  absl::StatusOr<LoadedMatrix> (*read)(InputFile* input, bool users_are_rows,
                                       const LoadOptions& options);
};

// All of them, by name.
const NameTable<InputFormat>& InputFormats();

// By the first bytes, else by the name, else by the first line's separators.
// INVALID_ARGUMENT "input-ambiguous", "input-empty", "input-ratings".
absl::StatusOr<const InputFormat*> DetectFormat(InputFile* input);
// The same where the file is known to be a matrix: lines of three or four
// fields are people's too. INVALID_ARGUMENT "input-empty".
absl::StatusOr<const InputFormat*> DetectMatrixFormat(InputFile* input);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_FORMATS_H_
