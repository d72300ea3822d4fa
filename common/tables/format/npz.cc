#include "common/tables/formats.h"
#include "common/tables/npy_matrix.h"

namespace dpnmf {

extern const InputFormat kNpzFormat = {
    .name = "npz",
    .title = "NumPy .npz",
    .extension = ".npz",
    .signature = "PK\x03\x04",
    .has_arrays = true,
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return ReadNpzMatrix(input, users_are_rows, options);
    }};

}  // namespace dpnmf
