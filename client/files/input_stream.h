// A file of the user's, read from front to back: decompressed where it begins
// like gzip, whatever its name is.
#ifndef DPNMF_CLIENT_FILES_INPUT_STREAM_H_
#define DPNMF_CLIENT_FILES_INPUT_STREAM_H_

#include <istream>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace dpnmf::cli {

class InputStream : public std::istream {
 public:
  // fail() if the file cannot be opened.
  explicit InputStream(const std::string& path);
  ~InputStream() override;

  // To be asked once nothing more comes: whether that was the file's end.
  // INVALID_ARGUMENT "input-unreadable": damaged, or cut off.
  absl::Status End() const;

 private:
  class Buffer;
  const std::string path_;
  const std::unique_ptr<Buffer> buffer_;
};

// ".csv" of "new.csv" and of "new.csv.gz". Lower case; empty if there is none.
std::string InputTypeOf(const std::string& path);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FILES_INPUT_STREAM_H_
