#include "curator/ledger/data_paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

fs::path Resolved(const std::string& path) {
  std::error_code failure;
  const fs::path absolute = fs::absolute(path, failure);
  fs::path resolved = fs::weakly_canonical(absolute, failure);
  if (failure) resolved = absolute.lexically_normal();
  return (resolved / "").parent_path();
}

}  // namespace

bool LiesIn(const std::string& path, const std::string& directory) {
  const fs::path inner = Resolved(path), outer = Resolved(directory);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end())
             .first == outer.end();
}

absl::Status CheckAnchorPath(const std::string& data_dir,
                             const std::string& anchor_dir) {
  if (anchor_dir.empty() || !LiesIn(anchor_dir, data_dir))
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "anchor-directory-invalid",
      absl::StrCat("The anchor directory `", anchor_dir,
                   "` is part of the data directory `", data_dir,
                   "`, and would be rolled back together with it; choose an "
                   "--anchor-dir outside of it, preferably on another volume "
                   "(if there is an anchor already, move it)."));
}

absl::StatusOr<LedgerSettings> LedgerPaths(const std::string& data_dir,
                                           const std::string& anchor_dir,
                                           bool no_anchor) {
  LedgerSettings places;
  places.directory = LedgerDirectory(data_dir);
  if (no_anchor) return places;
  places.anchor_directory =
      anchor_dir.empty() ? DefaultAnchorDirectory(data_dir) : anchor_dir;
  DPNMF_RETURN_IF_ERROR(CheckAnchorPath(data_dir, places.anchor_directory));
  return places;
}

}  // namespace dpnmf::curator
