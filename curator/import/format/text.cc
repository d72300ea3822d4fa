#include "common/files/fields.h"
#include "curator/import/readers/formats.h"
#include "curator/import/readers/text_matrix.h"

namespace dpnmf::curator {

extern const InputFormat kTextFormat = {
    .name = "text",
    .title = "blank-separated text",
    .has_fields = true,
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return ReadTextMatrix(input, options.delimiter.value_or(kBlanks),
                            users_are_rows, options);
    }};

}  // namespace dpnmf::curator
