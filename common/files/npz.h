// NumPy's .npz: a zip archive of .npy files, as numpy.savez writes it.
//
// Members are stored, not compressed. That needs a hundred lines beside zlib's
// CRC-32, and a reader that takes no more memory than the file has bytes. A zip
// library would bring decompression, encryption and archives in parts, which no
// file here has and which a hostile one could use.
#ifndef DPNMF_COMMON_FILES_NPZ_H_
#define DPNMF_COMMON_FILES_NPZ_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace dpnmf {

// One archive; members in the order in which they are added. The same members
// give the same bytes. Less than 4 GiB in all.
class NpzWriter {
 public:
  // "<f8", rows x columns in C order.
  void AddMatrix(const std::string& name, const Eigen::MatrixXd& matrix);
  // "<f8", one dimension.
  void AddVector(const std::string& name, const Eigen::VectorXd& vector);
  // "<i8", one dimension of one entry.
  void AddInteger(const std::string& name, std::int64_t value);
  // "|S": UTF-8, filled up with zeros to the longest.
  void AddTexts(const std::string& name, const std::vector<std::string>& texts);
  // All of the archive. Once only.
  std::string Take();

 private:
  void Add(const std::string& name, const std::string& npy);
  std::string bytes_;
  std::string directory_;
  std::uint16_t members_ = 0;
};

// The members of an archive by name ("base", without ".npy"), as views into
// `bytes`. INVALID_ARGUMENT "model-file-malformed" with what is wrong: no zip
// archive, compressed or encrypted members, damaged ones (CRC-32), more than 64
// of them or more bytes than the file has, a name that occurs twice, Zip64.
absl::StatusOr<std::map<std::string, std::string_view>> ReadNpz(
    std::string_view bytes);

// A member as what it must be. INVALID_ARGUMENT "model-file-malformed",
// "npy-malformed".
absl::StatusOr<Eigen::MatrixXd> MatrixOfMember(std::string_view npy,
                                               std::string_view name);
absl::StatusOr<Eigen::VectorXd> VectorOfMember(std::string_view npy,
                                               std::string_view name);
absl::StatusOr<std::int64_t> IntegerOfMember(std::string_view npy,
                                             std::string_view name);
absl::StatusOr<std::vector<std::string>> TextsOfMember(std::string_view npy,
                                                       std::string_view name);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_NPZ_H_
