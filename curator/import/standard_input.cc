#include "curator/import/standard_input.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/disk_error.h"
#include "common/tables/formats.h"
#include "curator/import/import_steps.h"

namespace dpnmf::curator {
namespace {

constexpr char kDash[] = "-";
// In memory, where there is no data directory.
constexpr std::uint64_t kMostInMemory = std::uint64_t{1} << 30;
constexpr std::size_t kPiece = std::size_t{1} << 17;
constexpr std::size_t kLongestClosingLine = 1024;
constexpr int kPollMilliseconds = 200;

absl::Status RefusedInput(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status CheckEnd(const StandardInputOptions& end) {
  const bool declared =
      end.expect_rows.has_value() || !end.closing_line.empty();
  if (declared && end.accept_unverified_end) {
    return RefusedInput(
        "flag-unused",
        "The end of standard input is verified by --expect-rows or "
        "--closing-line: leave out --accept-unverified-end.");
  }
  if (!declared && !end.accept_unverified_end) {
    return RefusedInput(
        "end-undeclared",
        "A pipe does not tell that its writer failed: say how the end of "
        "standard input is recognised, by --expect-rows N, the number of rows "
        "of data, or --closing-line TEXT, or give --accept-unverified-end.");
  }
  if (end.closing_line.size() > kLongestClosingLine ||
      !IsPlainText(end.closing_line)) {
    return RefusedInput(
        "closing-line-malformed",
        "`--closing-line` must be one line of at most 1,024 bytes "
        "of UTF-8, without control characters.");
  }
  return absl::OkStatus();
}

struct Limit {
  std::uint64_t bytes = 0;
  std::string reason;  // "which is --max-bytes; raise it"
};

// The disk is shared with the ledger, and the data set needs room, too: without
// --max-bytes half of what is free. A line of triples or ratings has 6 bytes or
// more, and 16 while it waits to be sorted.
absl::StatusOr<Limit> LimitOf(const StandardInputOptions& options,
                              bool is_sorted) {
  const Limit declared = {options.max_bytes.value_or(0),
                          "as --max-bytes says; raise it"};
  if (options.spool_dir.empty()) {
    if (options.max_bytes.has_value()) return declared;
    return Limit{kMostInMemory,
                 "the most that is kept in memory without a data directory; "
                 "give --max-bytes, or a --data-dir that exists"};
  }
  struct statvfs disk = {};
  if (::statvfs(options.spool_dir.c_str(), &disk) != 0)
    return StorageFailed("look at the disk of", options.spool_dir);
  const std::uint64_t times = is_sorted ? 4 : 1;
  const std::uint64_t free =
      std::uint64_t{disk.f_bavail} * disk.f_frsize / times;
  if (!options.max_bytes.has_value()) {
    return Limit{free / 2,
                 "half of what has room on the disk of the data directory; "
                 "free space there, or give --max-bytes"};
  }
  if (declared.bytes <= free) return declared;
  return Refusal(
      absl::StatusCode::kUnavailable, "storage-failed",
      absl::StrCat("The disk of `", options.spool_dir, "` has room for ", free,
                   " bytes of standard input, less than --max-bytes: free "
                   "space on it, or lower --max-bytes."));
}

// Waits for bytes and reads them; 0 at the end.
absl::StatusOr<std::size_t> ReadPiece(const ImportOptions& options,
                                      std::vector<char>* piece) {
  while (true) {
    if (options.interrupted && options.interrupted()) {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "Interrupted while reading standard input; nothing was "
                     "imported.");
    }
    // A signal may come between the question and the read, which would wait.
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, piece->data(), piece->size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR || errno == EAGAIN) continue;
    return RefusedInput("input-unreadable",
                        absl::StrCat("Standard input cannot be read: ",
                                     DiskErrorText(errno), "."));
  }
}

// Removes the closing line from the end of the input, or of its last bytes.
bool RemoveClosingLine(std::string_view line, std::string* input) {
  std::string_view rest = *input;
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  if (!rest.ends_with(line)) return false;
  rest.remove_suffix(line.size());
  if (!rest.empty() && !rest.ends_with('\n') && !rest.ends_with('\r'))
    return false;
  input->resize(rest.size());
  return true;
}

}  // namespace

bool ReadsStandardInput(const ImportOptions& options) {
  return !options.are_sums && !options.join_parts &&
         (options.input == kDash || options.ratings == kDash);
}

absl::Status CheckStandardInput(const ImportOptions& options) {
  const StandardInputOptions& end = options.standard_input;
  if (!ReadsStandardInput(options)) {
    if (!end.expect_rows.has_value() && end.closing_line.empty() &&
        !end.accept_unverified_end && !end.max_bytes.has_value())
      return absl::OkStatus();
    return RefusedInput(
        "flag-unused",
        "--expect-rows, --closing-line, --accept-unverified-end and "
        "--max-bytes are for standard input: leave them out, or give --input - "
        "or --ratings -.");
  }
  const std::pair<const std::string&, const char*> others[] = {
      {options.input, "--input"},
      {options.items_file, "--items"},
      {options.item_features_file, "--item-features"},
      {options.features_file, "--features"},
      {options.feature_weights_file, "--feature-weights"}};
  for (const auto& [file, flag] : others) {
    if (file != kDash || (&file == &options.input && options.ratings != kDash))
      continue;
    return RefusedInput(
        "stdin-mixed",
        absl::StrCat("Standard input is read once, by ",
                     options.ratings == kDash ? "--ratings" : "--input",
                     ": give ", flag, " the name of a file."));
  }
  if (options.format == nullptr ||
      !(options.format->has_fields || options.format->declares_people)) {
    return RefusedInput("input-ambiguous",
                        "Standard input needs --format-in csv, tsv, text or "
                        "triples; other formats are read from files.");
  }
  return CheckEnd(end);
}

absl::StatusOr<GrowingFile> SpoolStandardInput(const ImportOptions& options,
                                               const ImportProgress& progress) {
  const StandardInputOptions& how = options.standard_input;
  // The number of a closed one may be that of a library's own file.
  struct stat about = {};
  if (::fstat(STDIN_FILENO, &about) != 0 ||
      !(S_ISFIFO(about.st_mode) || S_ISREG(about.st_mode) ||
        S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode))) {
    return RefusedInput(
        "input-unreadable",
        "Standard input is closed, or is neither a pipe nor a file: let a "
        "program write the rows into it, or name a file.");
  }
  if (::isatty(STDIN_FILENO) != 0) {
    return RefusedInput(
        "input-unreadable",
        "Standard input is a terminal: let a program write the rows "
        "into it, or name a file.");
  }
  if (!how.spool_dir.empty())
    DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(how.spool_dir));
  DPNMF_ASSIGN_OR_RETURN(
      const Limit limit,
      LimitOf(how, !options.format->has_fields || !options.ratings.empty()));
  DPNMF_ASSIGN_OR_RETURN(
      GrowingFile spool,
      how.spool_dir.empty()
          ? GrowingFile::InMemory()
          : GrowingFile::Create(absl::StrCat(how.spool_dir, "/", kSpoolName)));
  // The closing line with its ends, and the end before it.
  const std::size_t held_back =
      how.closing_line.empty() ? 0 : how.closing_line.size() + 3;
  std::vector<char> piece(kPiece);
  std::string rest;
  for (std::uint64_t size = 0;;) {
    DPNMF_ASSIGN_OR_RETURN(const std::size_t count, ReadPiece(options, &piece));
    if (count == 0) break;
    size += count;
    if (size > limit.bytes) {
      return RefusedInput(
          "input-too-large",
          absl::StrCat("Standard input has more than ", limit.bytes, " bytes, ",
                       limit.reason, "."));
    }
    rest.append(piece.data(), count);
    const std::size_t ready = rest.size() - std::min(rest.size(), held_back);
    DPNMF_RETURN_IF_ERROR(
        spool.Append(std::string_view(rest).substr(0, ready)));
    rest.erase(0, ready);
    if (progress) progress("reading", size, 0);
  }
  if (!how.closing_line.empty() &&
      !RemoveClosingLine(how.closing_line, &rest)) {
    return RefusedInput(
        "closing-line-missing",
        "Standard input does not end with the line that "
        "--closing-line declares, so it may have been cut: see why "
        "its writer failed, and import again.");
  }
  DPNMF_RETURN_IF_ERROR(spool.Append(rest));
  return spool;
}

absl::Status CheckRowsRead(const ImportOptions& options, std::uint64_t rows) {
  const auto& expected = options.standard_input.expect_rows;
  if (!expected.has_value() || *expected == rows) return absl::OkStatus();
  return RefusedInput(
      "rows-mismatch",
      absl::StrCat("Standard input has ", rows, " rows of data, and ",
                   "--expect-rows says ", *expected,
                   ": see whether its writer failed, and import again."));
}

}  // namespace dpnmf::curator
