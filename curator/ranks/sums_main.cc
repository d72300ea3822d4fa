// dpnmf-sums: the exact sums of `moments` over some people, without MPI and
// without a curator: their lines in, integers out. Parts of the people may be
// computed anywhere and added up in any order, with the bits of one process;
// `dpnmf-curator add-sums` takes the whole.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/cli/program.h"
#include "common/files/feature_rows.h"
#include "common/files/input_file.h"
#include "common/files/read_file.h"
#include "common/privacy/stored_sums.h"
#include "common/tables/formats.h"
#include "common/threads/parallel.h"
#include "curator/factor/moments.h"
#include "curator/import/columns.h"
#include "curator/import/people_sums.h"

namespace dpnmf::curator {
namespace {

struct SumsFlags {
  std::uint64_t features = 0;
  std::uint64_t users_count = 0;
  std::string adjacency = "replace_one";
  std::string normalise = "l2";
  double column_bound = 1;
  std::string rows;
  std::string key;
  std::optional<int> id_column;
  std::string columns;
  int threads = 1;
};

// Standard input as a file that can be read twice and has no name on a disk.
absl::StatusOr<std::string> HeldInput() {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile("/dev/stdin", kOwnFileLimit));
  const int held = memfd_create("people", MFD_CLOEXEC);
  std::size_t done = 0;
  while (held >= 0 && done < text.size()) {
    const ssize_t now = write(held, text.data() + done, text.size() - done);
    if (now <= 0) break;
    done += static_cast<std::size_t>(now);
  }
  if (held < 0 || done < text.size()) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   "There is not enough memory for the people of standard "
                   "input: give fewer at a time.");
  }
  return absl::StrCat("/proc/self/fd/", held);
}

absl::StatusOr<FingerprintKey> KeyOf(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(path, kSettingsFileLimit));
  FingerprintKey key;
  if (text.size() != key.size()) {
    return Refusal(absl::StatusCode::kDataLoss, "fingerprint-key-damaged",
                   absl::StrCat("`", path,
                                "` is not 32 bytes: give a copy of the "
                                "curator's DATA_DIR/fingerprint.key."));
  }
  std::copy(text.begin(), text.end(), key.begin());
  return key;
}

// The rows of S_G: none for all features.
absl::StatusOr<std::vector<std::uint32_t>> MomentRows(const SumsFlags& flags) {
  if (flags.rows.empty() && flags.features <= kMaxMomentRows)
    return std::vector<std::uint32_t>();
  if (flags.rows.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                   absl::StrCat("More than ", kMaxMomentRows,
                                " features need --rows FILE: the features of "
                                "the second moment, from 0."));
  }
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::uint32_t> rows,
                         ReadFeatureRows(flags.rows, kMaxMomentRows));
  if (AreRowsOfSums(rows, flags.features)) return rows;
  return Refusal(
      absl::StatusCode::kInvalidArgument, "feature-rows-malformed",
      rows.back() >= flags.features
          ? absl::StrCat("'", flags.rows, "' names feature ", rows.back(),
                         "; the last one is ", flags.features - 1, ".")
          : absl::StrCat("'", flags.rows,
                         "' names all features: leave out --rows."));
}

absl::StatusOr<LoadedMatrix> LoadPeople(const std::string& path,
                                        const SumsFlags& flags) {
  LoadOptions load;
  {
    DPNMF_ASSIGN_OR_RETURN(const auto input, InputFile::Open(path));
    DPNMF_ASSIGN_OR_RETURN(load.format, DetectMatrixFormat(input.get()));
  }
  load.header = false;
  if (load.format->has_fields) load.label_columns = flags.id_column.value_or(0);
  load.id_column = flags.id_column;
  load.columns = flags.columns;
  return LoadMatrix(path, true, load);
}

absl::StatusOr<PeopleSums> SumsOf(const SumsFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key, KeyOf(flags.key));
  PeopleSums sums;
  sums.features = flags.features;
  sums.normalisation =
      flags.normalise == "l2" ? Normalisation::kL2 : Normalisation::kNone;
  sums.column_bound = flags.column_bound;
  sums.key_check = CheckOfKey(key);
  DatasetFacts facts;
  facts.features = flags.features;
  facts.users = flags.users_count;
  facts.adjacency = AdjacencyOfName(flags.adjacency).value();
  facts.column_bound = flags.column_bound;
  facts.max_rank = 1;
  facts.max_rounds = 2;
  DPNMF_ASSIGN_OR_RETURN(sums.moment_rows, MomentRows(flags));
  const std::uint64_t rows =
      MomentRowsOf({.rows = sums.moment_rows}, flags.features);
  DPNMF_ASSIGN_OR_RETURN(sums.bits, BitsOfSums(facts, rows));

  DPNMF_ASSIGN_OR_RETURN(const std::string input, HeldInput());
  absl::StatusOr<LoadedMatrix> matrix = LoadPeople(input, flags);
  if (ReasonCode(matrix.status()) == "input-empty") {  // a part of nobody
    sums.sums.resize(CountOfSums(flags.features, rows));
    return sums;
  }
  if (!matrix.ok()) return matrix.status();
  if (matrix->features != flags.features) {
    return Refusal(absl::StatusCode::kInvalidArgument, "features-mismatch",
                   absl::StrCat("The lines have ", matrix->features,
                                " entries and --features is ", flags.features,
                                ": correct one of them."));
  }
  sums.people = matrix->users;
  sums.rows = ColumnDigests(*matrix, key);
  for (const std::string& id : matrix->ids)
    sums.ids.push_back(FingerprintOfId(id, key));
  NormaliseColumns(&*matrix, sums.normalisation, sums.column_bound);
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data,
                         ToDataset(*std::move(matrix), {}));
  const Execution execution{.threads = flags.threads};
  DPNMF_ASSIGN_OR_RETURN(const auto mean, ComputeMean(*data, sums.column_bound,
                                                      sums.bits, execution));
  DPNMF_ASSIGN_OR_RETURN(
      const auto moments,
      ComputeMoments(*data, sums.moment_rows, sums.column_bound, sums.bits,
                     execution));
  sums.sums.assign(mean.begin(), mean.end());
  sums.sums.insert(sums.sums.end(), moments.begin(), moments.end());
  SealPart(&sums);
  return sums;
}

absl::StatusOr<ExitCode> Print(const absl::StatusOr<PeopleSums>& sums) {
  if (!sums.ok()) return sums.status();
  const std::string text = PeopleSumsText(*sums);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return kExitOk;
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 "Standard output cannot be written: free some space there.");
}

Command PeopleToSums() {
  const auto flags = std::make_shared<SumsFlags>();
  return {
      .name = "people",
      .summary = "Sums over the people on standard input, one on each line",
      .flags =
          {Flag("--features", &flags->features,
                "Entries of each person (D); more than 1024 need --rows",
                {.range = {1, kMostSumsFeatures}, .required = true}),
           Flag("--rows", &flags->rows,
                "The features of the second moment, fewer than all and at most "
                "1024, from 0, one on each line, as for dpnmf train [all]",
                {.value = "FILE"}),
           Flag("--users-count", &flags->users_count,
                "N of all parts together; N0 under add_remove_one",
                {.required = true}),
           Flag("--adjacency", &flags->adjacency,
                "Which data sets are neighbours",
                {.one_of = "replace_one|add_remove_one", .shown = true}),
           Flag("--normalise", &flags->normalise, "As of dpnmf-curator import",
                {.one_of = "l2|none", .shown = true}),
           Flag("--column-bound", &flags->column_bound,
                "For --normalise none: the largest length of a column"),
           Flag("--fingerprint-key", &flags->key,
                "The curator's DATA_DIR/fingerprint.key",
                {.value = "FILE", .required = true}),
           Flag("--id-column", &flags->id_column,
                "The leading field, from 1, with the person's id: fields up to "
                "it are not entries"),
           Flag("--columns", &flags->columns,
                "Fields that are entries, such as 2-65,70 [all but labels]",
                {.value = "LIST"}),
           Flag("--threads", &flags->threads, "Threads",
                {.range = {1, 1024}, .shown = true})},
      .run = [flags] { return Print(SumsOf(*flags)); }};
}

Command AddParts() {
  return {.name = "add",
          .summary = "Add up the sums on standard input, one after another",
          .run = []() -> absl::StatusOr<ExitCode> {
            DPNMF_ASSIGN_OR_RETURN(const std::string text,
                                   ReadFile("/dev/stdin", kOwnFileLimit));
            return Print(AddedSums(text));
          }};
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) {
  using dpnmf::curator::AddParts, dpnmf::curator::PeopleToSums;
  return dpnmf::Main(
      {.root = {.name = "dpnmf-sums",
                .summary = "Exact sums over parts of the people, to be added "
                           "up and given to `dpnmf-curator add-sums`. They "
                           "are private: they have no noise.",
                .footer = "Example:\n"
                          "  split -n l/4 people.csv part. && for p in part.*; "
                          "do\n    dpnmf-sums people --features 64 "
                          "--users-count 1797 --fingerprint-key key <$p\n  "
                          "done | dpnmf-sums add >sums.txt",
                .commands = {PeopleToSums(), AddParts()}},
       .version = DPNMF_VERSION},
      argc, argv);
}
