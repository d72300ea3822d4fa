// --search and --limit: which rows of a long list are shown.
#ifndef DPNMF_CLIENT_FLAGS_LIST_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_LIST_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/cli/program.h"
#include "google/protobuf/repeated_field.h"

namespace dpnmf::cli {

struct ListFlags {
  std::string search;
  std::uint32_t limit = 0;  // 0: all
};

// `flags` outlives the table.
inline std::vector<Flag> FlagsOfList(ListFlags* flags) {
  return {Flag("--search", &flags->search,
               "Only rows that contain each of these words, in any case",
               {.value = "WORDS"}),
          Flag("--limit", &flags->limit, "At most this many rows; 0 means all",
               {.value = "N", .shown = true})};
}

// Leaves the rows that are asked for, in their order. `text` is what a search
// looks in. Returns a sentence if rows were left out, else nothing.
template <typename Row, typename TextOf>
std::string CutToFlags(const ListFlags& flags, const TextOf& text,
                       google::protobuf::RepeatedPtrField<Row>* rows) {
  const std::vector<std::string> words = absl::StrSplit(
      absl::AsciiStrToLower(flags.search), ' ', absl::SkipWhitespace());
  google::protobuf::RepeatedPtrField<Row> found;
  for (const Row& row : *rows) {
    const std::string held = absl::AsciiStrToLower(text(row));
    bool has_all = true;
    for (const std::string& word : words)
      has_all = has_all && held.find(word) != std::string::npos;
    if (has_all) *found.Add() = row;
  }
  const int all = rows->size();
  if (flags.limit > 0 && static_cast<std::uint32_t>(found.size()) > flags.limit)
    found.DeleteSubrange(static_cast<int>(flags.limit),
                         found.size() - static_cast<int>(flags.limit));
  rows->Swap(&found);
  return rows->size() == all
             ? ""
             : absl::StrCat("\n", rows->size(), " of ", all, " are shown.\n");
}

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_LIST_FLAGS_H_
