// The person whom a command is about. A command line can be read by every user
// of the machine (ps), so the id may also come from a file or from standard
// input.
#ifndef DPNMF_CURATOR_COMMANDS_FLAGS_PERSON_FLAGS_H_
#define DPNMF_CURATOR_COMMANDS_FLAGS_PERSON_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/cli/program.h"

namespace dpnmf::curator {

struct PersonFlags {
  std::string user;       // --user ID
  std::string user_file;  // --user-file FILE
  bool any() const { return !user.empty() || !user_file.empty(); }
};

// `*flags` must outlive them.
Flag UserFlag(PersonFlags* flags);
Flag UserFileFlag(PersonFlags* flags);

// The id. Standard input (`--user-file -`) is read to its end, and may have as
// many bytes as a file. A byte order mark before the id is left out.
// INVALID_ARGUMENT "flags-conflict" unless one of the flags is given,
// "user-malformed" unless the text is one line of 1 to kLongestPerson bytes of
// UTF-8 without control characters; errors of ReadFile.
absl::StatusOr<std::string> PersonOf(const PersonFlags& flags);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_FLAGS_PERSON_FLAGS_H_
