#include "common/wire/prior.h"

#include <span>

#include "common/crypto/sha256.h"

namespace dpnmf {

std::string HashOfPrior(const std::vector<std::string>& names,
                        const Eigen::MatrixXd& entries) {
  Sha256 hash;
  hash.AddInteger(names.size());
  for (const std::string& name : names) hash.AddString(name);
  const Digest digest =
      hash.AddInteger(static_cast<std::uint64_t>(entries.rows()))
          .AddInteger(static_cast<std::uint64_t>(entries.cols()))
          .AddBytes(std::as_bytes(std::span(
              entries.data(), static_cast<std::size_t>(entries.size()))))
          .Finish();
  return std::string(digest.begin(), digest.end());
}

}  // namespace dpnmf
