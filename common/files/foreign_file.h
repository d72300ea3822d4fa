// Files that no reader here can read, recognised by their first bytes.
#ifndef DPNMF_COMMON_FILES_FOREIGN_FILE_H_
#define DPNMF_COMMON_FILES_FOREIGN_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace dpnmf {

// Bytes that ForeignFile looks at: a header of tar ends there.
inline constexpr std::size_t kForeignBytes = 512;

// "this is an Excel workbook; save ...": what the file is and what to do, from
// its first bytes (decompressed, if it begins like gzip). Empty for text, and
// for arrays: .npy, and a ZIP archive that is called .npz or begins with one.
std::string ForeignFile(std::string_view beginning, std::string_view path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_FOREIGN_FILE_H_
