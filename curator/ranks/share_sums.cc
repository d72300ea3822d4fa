#include "curator/ranks/share_sums.h"

#include <cstdio>
#include <exception>
#include <utility>

#include "common/base/error.h"
#include "curator/data/file_digests.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

absl::Status NoSuchSums() {
  return Refusal(absl::StatusCode::kInternal, "sums-malformed",
                 "The sums do not match the command; this is a fault of the "
                 "curator, and nothing was charged.");
}

absl::Status NotTheCurators(const std::string& directory) {
  return Refusal(absl::StatusCode::kDataLoss, "dataset-damaged",
                 "The data set at " + directory +
                     " is not the curator's: copy the curator's data set "
                     "there.");
}

// Returns null for a name at which ReleaseKindOf would stop the process.
const ReleaseKind* KindNamed(const std::string& release) {
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    for (const ReleaseKind& kind : mechanism->releases)
      if (kind.name == release) return &kind;
  }
  return nullptr;
}

// Before the first answer: the files of this share against the digests that the
// curator's data set has, too.
absl::Status VerifyOpened(const Dataset& dataset, const RankCommand& command) {
  const Digest files = KeyedDigest({.sha256 = command.files}, command.file_key);
  DPNMF_ASSIGN_OR_RETURN(const std::vector<FileCheck> checks,
                         dataset.ChecksOfOpened(files, command.file_key));
  return CheckFiles(checks, command.file_key);
}

constexpr std::size_t kFailed = 0, kPeople = 1, kEntries = 2;

}  // namespace

ShareSums::ShareSums(std::string data_dir, const Share& share, int threads)
    : data_dir_(std::move(data_dir)), share_(share), threads_(threads) {}

absl::StatusOr<const Dataset*> ShareSums::Find(const RankCommand& command) {
  const std::string directory = DatasetDirectory(data_dir_, command.dataset);
  std::unique_ptr<Dataset>& dataset = datasets_[command.dataset];
  if (dataset == nullptr) {
    DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> opened,
                           Dataset::OpenShare(directory, share_));
    if (opened->private_files() == command.files) {
      DPNMF_RETURN_IF_ERROR(VerifyOpened(*opened, command));
      dataset = std::move(opened);
    }
  }
  // Shares of two cuts could have somebody twice. The right data set may be
  // copied there before the next command.
  if (dataset == nullptr || dataset->private_files() != command.files) {
    dataset.reset();
    return NotTheCurators(directory);
  }
  return dataset.get();
}

absl::StatusOr<RoundSums> ShareSums::Compute(const RankCommand& command) {
  for (const std::uint64_t name : command.forget) coefficients_.erase(name);
  const ReleaseKind* const kind = KindNamed(command.release);
  if (kind == nullptr || !kind->by_ranges) return NoSuchSums();
  DPNMF_ASSIGN_OR_RETURN(const Dataset* const dataset, Find(command));
  Execution execution;
  execution.threads = threads_;
  const RoundContext context{*dataset, command.parameters, command.plan,
                             execution, &coefficients_[command.coefficients]};
  return kind->sums(command.input, context);
}

std::vector<std::uint64_t> ShareSums::Words(const RankCommand& command) {
  std::vector<std::uint64_t> words;
  absl::StatusOr<RoundSums> sums = NoSuchSums();
  try {
    sums = Compute(command);
  } catch (const std::exception& problem) {
    sums = absl::InternalError(problem.what());
  }
  std::uint64_t entries = 0;
  if (sums.ok()) {
    for (const auto& part : sums->parts) entries += part.size();
    if (entries != command.entries) sums = NoSuchSums();
  }
  if (!sums.ok()) {
    std::fprintf(stderr, "dpnmf-ranks: share %llu of %llu: %s\n",
                 static_cast<unsigned long long>(share_.index),
                 static_cast<unsigned long long>(share_.count),
                 std::string(sums.status().message()).c_str());
    // Its people's H may have moved or not: the run starts again.
    coefficients_.erase(command.coefficients);
    words.resize(kEntries + command.entries + 1);
    words[kFailed] = 1;
    return words;
  }
  words.reserve(kEntries + entries + 1);
  words.resize(kEntries);
  words[kPeople] = datasets_.at(command.dataset)->private_user_count();
  for (const auto& part : sums->parts)
    words.insert(words.end(), part.begin(), part.end());
  words.push_back(LinearCheck(std::span(words).subspan(kEntries)));
  return words;
}

std::vector<std::uint64_t> AnswerOf(std::uint64_t number,
                                    const std::vector<std::uint64_t>& words) {
  std::vector<std::uint64_t> answer = {kAnswerMagic, number, words[kFailed],
                                       words[kPeople],
                                       words.size() - kEntries - 1};
  answer.reserve(AnswerWords(words.size()));
  answer.insert(answer.end(), words.begin() + kEntries, words.end());
  answer.push_back(kAnswerEnd);
  return answer;
}

}  // namespace dpnmf::curator
