// "user item value" lines, as recommender data come (triple_lines.h). The first
// line is a header if its third field is a word and no other is a number. Users
// and items are any words; users become columns in the order of their first
// appearance. Reads `feature_names` and `users_count` of the options; their
// `note` is told how the lines were understood.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/tables/assemble.h"
#include "common/tables/formats.h"
#include "common/tables/names/header_words.h"
#include "common/tables/triple_lines.h"

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
        users_declared_(options.users_count),
        note_(options.note),
        lines_(input, "value"),
        entries_(options.spool_dir) {
    for (const std::string& name : options.feature_names)
      NumberOf(name, &items_);
  }

  absl::StatusOr<LoadedMatrix> Read() {
    std::string_view line;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (!lines_.begun() && lines_.IsAbove(line)) continue;
      if (TrimBlanks(line).empty()) continue;
      if (!lines_.begun()) {
        DPNMF_RETURN_IF_ERROR(lines_.Begin(line));
        if (IsHeader()) {
          DPNMF_RETURN_IF_ERROR(lines_.TakeHeader());
          continue;
        }
      }
      DPNMF_RETURN_IF_ERROR(AddTriple(line));
    }
    if (entries_.size() == 0) {
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file contains no triple; give another");
    }
    DPNMF_ASSIGN_OR_RETURN(
        LoadedMatrix matrix,
        AssembleSparse(input_, entries_, items_.size(),
                       users_declared_.value_or(users_.size())));
    matrix.reading.rows = entries_.size();
    matrix.ids.resize(users_.size());
    for (const auto& [name, user] : users_)
      matrix.ids[static_cast<std::size_t>(user)] = name;
    const std::string summary = lines_.Summary(/*times_are_read=*/false);
    if (note_ && !summary.empty()) note_(summary);
    return matrix;
  }

 private:
  bool IsHeader() const {
    const auto& fields = lines_.fields();
    return IsWord(fields[2]) && !IsNumber(fields[0]) && !IsNumber(fields[1]);
  }

  absl::Status AddTriple(std::string_view line) {
    SparseEntry entry{.line = LineForMessages(input_)};
    DPNMF_RETURN_IF_ERROR(lines_.Split(line));
    DPNMF_ASSIGN_OR_RETURN(entry.user, UserOf(lines_.Text(0)));
    DPNMF_ASSIGN_OR_RETURN(entry.feature, ItemOf(lines_.Text(1)));
    DPNMF_ASSIGN_OR_RETURN(const std::string_view value, lines_.Number());
    if (const auto problem = ParseEntry(value, &entry.value)) {
      return input_.Refuse(problem->code, 3, problem->sentence);
    }
    return entries_.Add(entry);
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
  const std::function<void(const std::string&)>& note_;
  TripleLines lines_;
  Numbering users_, items_;
  RecordLog<SparseEntry> entries_;
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
