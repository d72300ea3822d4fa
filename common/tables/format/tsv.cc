#include "common/tables/formats.h"
#include "common/tables/text_matrix.h"

namespace dpnmf {

extern const InputFormat kTsvFormat = {
    .name = "tsv",
    .title = "TSV",
    .extension = ".tsv",
    .has_fields = true,
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return ReadTextMatrix(input, options.delimiter.value_or('\t'),
                            users_are_rows, options);
    }};

}  // namespace dpnmf
