#include "curator/import/standard_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/machine_memory.h"
#include "common/base/utf8.h"
#include "common/files/disk_error.h"
#include "common/files/input_file.h"
#include "common/tables/formats.h"

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
        "of data, or --closing-line TEXT; `import` also takes "
        "--accept-unverified-end.");
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
  const bool in_memory = options.spool_dir.empty();
  std::uint64_t room = MachineMemory() / 2;
  if (!in_memory) {
    struct statvfs disk = {};
    if (::statvfs(options.spool_dir.c_str(), &disk) != 0)
      return StorageFailed("look at the disk of", options.spool_dir);
    room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  if (is_sorted) room /= 4;
  if (!options.max_bytes.has_value() && in_memory) {
    return Limit{std::min(kMostInMemory, room),
                 "the most that is kept in memory; give --max-bytes, or a "
                 "--data-dir where you may write"};
  }
  if (!options.max_bytes.has_value()) {
    return Limit{room / 2,
                 "half of what has room on the disk of the data directory; "
                 "free space there, or give --max-bytes"};
  }
  if (*options.max_bytes <= room)
    return Limit{*options.max_bytes, "as --max-bytes says; raise it"};
  return Refusal(
      absl::StatusCode::kUnavailable, "storage-failed",
      absl::StrCat(
          in_memory ? "Memory"
                    : absl::StrCat("The disk of `", options.spool_dir, "`"),
          " has room for ", room,
          " bytes of standard input, less than --max-bytes: lower it, or ",
          in_memory ? "give a --data-dir where you may write."
                    : "free space on the disk."));
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
// Without its own end it may be the beginning of another line.
bool RemoveClosingLine(std::string_view line, std::string* input) {
  std::string_view rest = *input;
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  if (rest.size() == input->size() || !rest.ends_with(line)) return false;
  rest.remove_suffix(line.size());
  if (!rest.empty() && !rest.ends_with('\n') && !rest.ends_with('\r'))
    return false;
  input->resize(rest.size());
  return true;
}

bool IsGzip(std::string_view beginning) { return beginning == "\x1F\x8B"; }
bool IsEncoded(std::string_view beginning) {
  return IsGzip(beginning) || beginning == "\xFF\xFE" ||
         beginning == "\xFE\xFF";
}

absl::Status ClosingLineMissing(std::string_view beginning) {
  if (IsEncoded(beginning)) {
    return RefusedInput(
        "closing-line-missing",
        absl::StrCat("Standard input is ",
                     IsGzip(beginning) ? "compressed (gzip)" : "in UTF-16",
                     ", and a closing line is found in plain UTF-8 alone: "
                     "write that, or give --expect-rows instead."));
  }
  return RefusedInput(
      "closing-line-missing",
      "Standard input does not end with the line that "
      "--closing-line declares, so it may have been cut: see why "
      "its writer failed, and import again.");
}

// Refuses a last line without an end: its last number may have lost digits,
// which the number of rows does not show. Reads the text as it is decoded.
absl::Status CheckLastLine(const ImportOptions& options,
                           const std::string& place) {
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open("standard input", {}, options.interrupted, std::nullopt,
                      place));
  std::vector<std::byte> piece(kPiece);
  char last = '\n';
  while (true) {
    DPNMF_ASSIGN_OR_RETURN(const std::size_t count, input->Read(piece));
    if (count == 0) break;
    last = static_cast<char>(piece[count - 1]);
  }
  if (last == '\n' || last == '\r') return absl::OkStatus();
  return RefusedInput(
      "rows-mismatch",
      "The last line of standard input has no line end, so it may have been "
      "cut: see whether its writer failed, or let it end each line.");
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
      (::fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY ||
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
  DPNMF_ASSIGN_OR_RETURN(
      const Limit limit,
      LimitOf(how, !options.format->has_fields || !options.ratings.empty()));
  DPNMF_ASSIGN_OR_RETURN(GrowingFile spool, GrowingFile::Spool(how.spool_dir));
  // The closing line with its ends, and the end before it.
  const std::size_t held_back =
      how.closing_line.empty() ? 0 : how.closing_line.size() + 3;
  std::vector<char> piece(kPiece);
  std::string beginning, rest;
  bool is_ended = false;  // if it is plain text
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
    beginning.append(piece.data(), std::min(count, 2 - beginning.size()));
    rest.append(piece.data(), count);
    is_ended = rest.back() == '\n' || rest.back() == '\r';
    const std::size_t ready = rest.size() - std::min(rest.size(), held_back);
    DPNMF_RETURN_IF_ERROR(
        spool.Append(std::string_view(rest).substr(0, ready)));
    rest.erase(0, ready);
    if (progress) progress("reading", size, 0);
  }
  if (!how.closing_line.empty() && !RemoveClosingLine(how.closing_line, &rest))
    return ClosingLineMissing(beginning);
  DPNMF_RETURN_IF_ERROR(spool.Append(rest));
  if (how.expect_rows.has_value() && how.closing_line.empty() &&
      (!is_ended || IsEncoded(beginning)))
    DPNMF_RETURN_IF_ERROR(CheckLastLine(options, spool.place()));
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
