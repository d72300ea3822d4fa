#include "common/tables/refused_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {

void RefusedLines::Note(absl::Status status) {
  ++count_;
  if (kept_.size() < kShownRefusals) kept_.push_back(std::move(status));
}

void RefusedLines::Note(absl::Status status, std::string_view cause) {
  if (causes_.size() <= kShownRefusals && causes_.emplace(cause).second) {
    Note(std::move(status));
  } else {
    NoteAgain();
  }
}

absl::Status RefusedLines::Verdict(
    std::string_view things,
    const std::function<void(const absl::Status&)>& told) const {
  if (count_ == 0) return absl::OkStatus();
  if (count_ == 1) return kept_[0];
  if (told && kept_.size() > 1)
    for (const absl::Status& status : kept_) told(status);
  return Refusal(absl::StatusCode::kInvalidArgument, ReasonCode(kept_[0]),
                 absl::StrCat(absl::StripSuffix(kept_[0].message(), "."),
                              "; this is the first of ", count_, " ",
                              View(things), " that are refused."));
}

}  // namespace dpnmf
