#include "common/files/fields.h"
#include "common/tables/formats.h"
#include "common/tables/text_matrix.h"

namespace dpnmf {

extern const InputFormat kTextFormat = {
    .name = "text",
    .title = "blank-separated text",
    .has_fields = true,
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return ReadTextMatrix(input, options.delimiter.value_or(kBlanks),
                            users_are_rows, options);
    }};

}  // namespace dpnmf
