#include "common/tables/formats.h"
#include "common/tables/npy_matrix.h"

namespace dpnmf {

extern const InputFormat kNpyFormat = {
    .name = "npy",
    .title = "NumPy .npy",
    .extension = ".npy",
    .signature = "\x93NUMPY",
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return ReadNpyMatrix(input, users_are_rows, options);
    }};

}  // namespace dpnmf
