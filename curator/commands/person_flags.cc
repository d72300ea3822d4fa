#include "curator/commands/person_flags.h"

#include <iostream>
#include <iterator>

#include "common/base/error.h"
#include "common/base/read_file.h"
#include "common/base/utf8.h"
#include "curator/recommend/token.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<std::string> ContentOf(const std::string& file) {
  if (file != "-") return ReadFile(file, kSettingsFileLimit);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
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
