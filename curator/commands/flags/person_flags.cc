#include "curator/commands/flags/person_flags.h"

#include <array>
#include <iostream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/read_file.h"
#include "curator/recommend/token.h"

namespace dpnmf::curator {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::StatusOr<std::string> ContentOf(const std::string& file) {
  if (file != "-") return ReadFile(file, kSettingsFileLimit);
  std::string content;
  std::array<char, 4096> piece;
  while (std::cin.read(piece.data(), piece.size()) || std::cin.gcount() > 0) {
    content.append(piece.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (content.size() > kSettingsFileLimit) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "file-too-large",
          absl::StrCat("Standard input has more than ", kSettingsFileLimit,
                       " bytes; give the right file."));
    }
  }
  return content;
}

}  // namespace

Flag UserFlag(PersonFlags* flags) {
  return Flag("--user", &flags->user,
              "The person's id in the imported file. Every user of this "
              "machine can read it while the command runs (ps)",
              {.value = "ID"});
}

Flag UserFileFlag(PersonFlags* flags) {
  return Flag("--user-file", &flags->user_file,
              "File with the person's id in one line, in the place of --user; "
              "- for standard input",
              {.value = "FILE"});
}

absl::StatusOr<std::string> PersonOf(const PersonFlags& flags) {
  if (flags.user.empty() == flags.user_file.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "Give either --user ID or --user-file FILE.");
  }
  std::string person = flags.user;
  if (person.empty()) {
    DPNMF_ASSIGN_OR_RETURN(person, ContentOf(flags.user_file));
    if (person.starts_with(kByteOrderMark))
      person.erase(0, kByteOrderMark.size());
    for (const char end : {'\n', '\r'})
      if (person.ends_with(end)) person.pop_back();
  }
  if (!person.empty() && person.size() <= kLongestPerson && IsPlainText(person))
    return person;
  return Refusal(absl::StatusCode::kInvalidArgument, "user-malformed",
                 "The person's id must be one line of 1 to 1,024 bytes of "
                 "UTF-8 without control characters; correct `--user` or the "
                 "file of `--user-file`.");
}

}  // namespace dpnmf::curator
