// "user item value" lines, as recommender data come. Separated by blanks, a tab
// or a comma (the first line decides). A fourth field (a time) is ignored. The
// first line is a header if it has no number in its third field. Users and
// items are any words; users become columns in the order of their first
// appearance. Reads `feature_names` and `users_count` of the options.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/tables/assemble.h"
#include "common/tables/formats.h"

namespace dpnmf {
namespace {

using Numbering = std::unordered_map<std::string, std::int32_t>;

// The number of `name`, a new one if it has none.
std::int32_t NumberOf(std::string_view name, Numbering* numbering) {
  return numbering
      ->try_emplace(std::string(name),
                    static_cast<std::int32_t>(numbering->size()))
      .first->second;
}

class TriplesReader {
 public:
  TriplesReader(InputFile* input, const LoadOptions& options)
      : input_(*input),
        items_declared_(!options.feature_names.empty()),
        users_declared_(options.users_count) {
    for (const std::string& name : options.feature_names)
      NumberOf(name, &items_);
  }

  absl::StatusOr<LoadedMatrix> Read() {
    std::string_view line;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (input_.line_number() == 1) separator_ = GuessSeparator(line);
      if (IsBlank(line, kBlanks)) continue;
      line_ = line;
      DPNMF_RETURN_IF_ERROR(AddLine(line));
    }
    if (entries_.empty()) {
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file contains no triple; give another");
    }
    DPNMF_ASSIGN_OR_RETURN(
        LoadedMatrix matrix,
        AssembleSparse(input_, entries_, items_.size(),
                       users_declared_.value_or(users_.size())));
    matrix.ids.resize(users_.size());
    for (const auto& [name, user] : users_)
      matrix.ids[static_cast<std::size_t>(user)] = name;
    return matrix;
  }

 private:
  absl::Status AddLine(std::string_view line) {
    if (!SplitFields(line, separator_, &fields_)) {
      return input_.Refuse("input-malformed", fields_.size() + 1,
                           "a quoted field must end with a quote before the "
                           "separator; correct or remove the quotes");
    }
    if (fields_.size() != 3 && fields_.size() != 4) {
      return input_.Refuse("input-ragged",
                           std::min<std::size_t>(fields_.size() + 1, 5),
                           absl::StrCat("the line has ", fields_.size(),
                                        " fields; write 'user item value'"));
    }
    const bool is_header = input_.line_number() == 1 && !IsNumber(fields_[2]);
    return is_header ? absl::OkStatus() : AddTriple();
  }

  absl::Status AddTriple() {
    SparseEntry entry{.line = LineForMessages(input_)};
    for (const std::size_t i : {0, 1}) {
      if (fields_[i].empty()) {
        return input_.Refuse("input-malformed", i + 1,
                             "the field is empty; write a user and an item");
      }
    }
    DPNMF_ASSIGN_OR_RETURN(entry.user, UserOf(FieldText(line_, fields_[0])));
    DPNMF_ASSIGN_OR_RETURN(entry.feature, ItemOf(fields_[1]));
    if (const auto problem = ParseEntry(fields_[2], &entry.value)) {
      return input_.Refuse(problem->code, 3, problem->sentence);
    }
    entries_.push_back(entry);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int32_t> UserOf(std::string_view name) {
    const std::int32_t user = NumberOf(name, &users_);
    if (static_cast<std::uint64_t>(user) <
        users_declared_.value_or(kLargestExtent))
      return user;
    return input_.Refuse(
        "users-mismatch", 1,
        absl::StrCat("the user ", Quoted(name), " is one more than the ",
                     users_declared_.value_or(kLargestExtent),
                     " declared; raise --users-count or remove users"));
  }

  absl::StatusOr<std::int32_t> ItemOf(std::string_view name) {
    if (!items_declared_ && items_.size() < kLargestExtent)
      return NumberOf(name, &items_);
    const auto item = items_.find(std::string(name));
    if (item != items_.end()) return item->second;
    return input_.Refuse(
        "item-unknown", 2,
        absl::StrCat("the item ", Quoted(name),
                     " is not among the declared features; add it to the "
                     "features file or remove the line"));
  }

  InputFile& input_;
  const bool items_declared_;
  const std::optional<std::uint64_t> users_declared_;
  char separator_ = kBlanks;
  std::string_view line_;                 // the current one
  std::vector<std::string_view> fields_;  // of it
  Numbering users_, items_;
  std::vector<SparseEntry> entries_;
};

}  // namespace

extern const InputFormat kTriplesFormat = {
    .name = "triples",
    .title = "'user item value' triples",
    .declares_people = true,
    .read = [](InputFile* input, bool, const LoadOptions& options) {
      return TriplesReader(input, options).Read();
    }};

}  // namespace dpnmf
