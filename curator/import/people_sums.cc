#include "curator/import/people_sums.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/npy.h"
#include "common/files/read_file.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/stored_sums.h"
#include "curator/data/description.h"

namespace dpnmf::curator {
namespace {

constexpr std::string_view kSumsMagic = "dpnmf-sums";
constexpr std::uint64_t kSumsVersion = 1;
constexpr std::string_view kRowsWord = "rows";

absl::Status SumsFileMalformed(const char* problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "sums-file-malformed",
                 absl::StrCat("The sums are not what dpnmf-sums prints: ",
                              problem, "; make them again."));
}

absl::Status SumsDuplicate(const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "sums-duplicate", problem);
}

template <typename T>
std::uint64_t RepeatedIn(const std::vector<T>& ascending) {
  std::uint64_t repeated = 0;
  for (std::size_t i = 1; i < ascending.size(); ++i)
    repeated += ascending[i] == ascending[i - 1] ? 1 : 0;
  return repeated;
}

// Nobody is counted twice, as far as parts and ids tell.
absl::Status CheckCountedOnce(const PeopleSums& all) {
  if (const std::uint64_t parts = RepeatedIn(all.parts); parts > 0) {
    return SumsDuplicate(absl::StrCat(
        "Parts that are in the sums more than once: ", parts,
        "; give each part once, and no sum beside its own parts. If they are "
        "other people with the very same rows, give --id-column to dpnmf-sums, "
        "or cut the parts differently."));
  }
  if (const std::uint64_t ids = RepeatedIn(all.ids); ids > 0) {
    return SumsDuplicate(
        absl::StrCat("Ids that are in the sums more than once: ", ids,
                     "; put every person into one part and one row, or give "
                     "another --id-column."));
  }
  return absl::OkStatus();
}

// Takes words and lines off a text.
class SumsReader {
 public:
  explicit SumsReader(std::string_view text) : left_(text) {}

  std::string_view Word() {
    const std::size_t end = std::min(left_.find_first_of(" \n"), left_.size());
    const std::string_view word = left_.substr(0, end);
    left_.remove_prefix(end);
    if (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
    return word;
  }
  bool EndOfLine() {
    if (left_.empty() || left_.front() != '\n') return false;
    left_.remove_prefix(1);
    return true;
  }
  template <typename T>
  std::optional<T> Number(int base = 10) {
    const std::string_view word = Word();
    T value{};
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size())
      return std::nullopt;
    return value;
  }
  void SkipBlankLines() {
    while (!left_.empty() && left_.front() == '\n') left_.remove_prefix(1);
  }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

std::optional<PersonFingerprint> FingerprintOfHex(std::string_view hex) {
  const std::string whole = std::string(hex) + std::string(32, '0');
  const auto digest = hex.size() == 32 ? DigestOfHex(whole) : std::nullopt;
  if (!digest.has_value()) return std::nullopt;
  PersonFingerprint fingerprint;
  std::copy_n(digest->begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

// "rows M R ..."
bool ReadRowsLine(SumsReader* reader, std::vector<std::uint32_t>* rows) {
  if (reader->Word() != kRowsWord) return false;
  const auto count = reader->Number<std::uint64_t>();
  if (!count || *count < 1 || *count > kMaxMomentRows) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto row = reader->Number<std::uint32_t>();
    if (!row) return false;
    rows->push_back(*row);
  }
  return reader->EndOfLine();
}

std::uint64_t MomentRows(const PeopleSums& sums) {
  return MomentRowsOf({.rows = sums.moment_rows}, sums.features);
}

std::uint64_t SumCount(const PeopleSums& sums) {
  return CountOfSums(sums.features, MomentRows(sums));
}

// The next block; nothing if it is not whole.
std::optional<PeopleSums> ReadBlock(SumsReader* reader) {
  const std::string_view begin = reader->left();
  PeopleSums sums;
  if (reader->Word() != kSumsMagic) return std::nullopt;
  if (reader->Number<std::uint64_t>() != kSumsVersion) return std::nullopt;
  sums.features = reader->Number<std::uint64_t>().value_or(0);
  const auto people = reader->Number<std::uint64_t>();
  const auto bits = reader->Number<int>();
  const auto bound = reader->Number<std::uint64_t>(16);
  const auto normalisation = NormalisationOfName(reader->Word());
  const auto key_check = DigestOfHex(reader->Word());
  const auto ids = reader->Number<std::uint64_t>();
  const auto parts = reader->Number<std::uint64_t>();
  if (sums.features < 1 || sums.features > kMostSumsFeatures || !people ||
      !bits || !bound || !normalisation || !key_check || !ids || !parts ||
      !reader->EndOfLine())
    return std::nullopt;
  if (reader->left().starts_with(kRowsWord) &&
      !ReadRowsLine(reader, &sums.moment_rows))
    return std::nullopt;
  if (!AreRowsOfSums(sums.moment_rows, sums.features) ||
      reader->Word() != "sums")
    return std::nullopt;
  if ((*ids != 0 && *ids != *people) || *parts > *people ||
      (*parts == 0) != (*people == 0))
    return std::nullopt;
  sums.people = *people;
  sums.bits = *bits;
  sums.column_bound = std::bit_cast<double>(*bound);
  sums.normalisation = *normalisation;
  sums.key_check = *key_check;
  for (std::uint64_t i = 0; i < SumCount(sums); ++i) {
    const auto sum = reader->Number<std::uint64_t>();
    if (!sum) return std::nullopt;
    sums.sums.push_back(*sum);
  }
  if (!reader->EndOfLine()) return std::nullopt;
  for (std::uint64_t n = 0; n < sums.people; ++n) {
    if (reader->Word() != "row") return std::nullopt;
    const auto row = DigestOfHex(reader->Word());
    if (!row || !reader->EndOfLine()) return std::nullopt;
    sums.rows.push_back(*row);
  }
  for (std::uint64_t n = 0; n < *ids; ++n) {
    if (reader->Word() != "id") return std::nullopt;
    const auto id = FingerprintOfHex(reader->Word());
    if (!id || !reader->EndOfLine()) return std::nullopt;
    sums.ids.push_back(*id);
  }
  for (std::uint64_t n = 0; n < *parts; ++n) {
    if (reader->Word() != "part") return std::nullopt;
    const auto part = DigestOfHex(reader->Word());
    if (!part || !reader->EndOfLine()) return std::nullopt;
    sums.parts.push_back(*part);
  }
  const std::string_view block =
      begin.substr(0, begin.size() - reader->left().size());
  const Digest check =
      Sha256().AddBytes(std::as_bytes(std::span(block))).Finish();
  if (reader->Word() != "end" || DigestOfHex(reader->Word()) != check ||
      !reader->EndOfLine())
    return std::nullopt;
  return sums;
}

bool MadeAlike(const PeopleSums& a, const PeopleSums& b) {
  return a.features == b.features && a.moment_rows == b.moment_rows &&
         a.bits == b.bits && a.column_bound == b.column_bound &&
         a.normalisation == b.normalisation && a.key_check == b.key_check &&
         (a.people == 0 || b.people == 0 || a.ids.empty() == b.ids.empty());
}

// Returns whether any columns could add up to the sums: an entry of the mean is
// at most m per person, and one of S_G m^2.
bool InRange(const PeopleSums& sums) {
  const std::uint64_t m = LargestEntrySteps(sums.column_bound, sums.bits);
  const Uint128 mean = Uint128{sums.people} * m, products = mean * m;
  for (std::size_t i = 0; i < sums.sums.size(); ++i)
    if (sums.sums[i] > (i < sums.features ? mean : products)) return false;
  return products < Uint128{1} << 62;
}

// A key that is made now would fit no sums.
absl::Status CheckKeyOf(const PeopleSums& sums, const std::string& data_dir) {
  const std::string path = data_dir + "/fingerprint.key";
  if (std::filesystem::exists(path)) {
    DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                           LoadOrCreateFingerprintKey(data_dir));
    if (CheckOfKey(key) == sums.key_check) return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kDataLoss, "people-damaged",
                 absl::StrCat("The sums were made with another key than ", path,
                              ": give dpnmf-sums a copy of that file."));
}

class SumsSource : public ImportSource {
 public:
  explicit SumsSource(PeopleSums sums) : sums_(std::move(sums)) {}

  void Describe(DatasetDescription* description) const override {
    description->features = sums_.features;
    description->sums = {.bits = sums_.bits, .rows = sums_.moment_rows};
  }
  std::uint64_t people() const override { return sums_.people; }
  Digest Fingerprint(const FingerprintKey& key,
                     PeopleFingerprints* people) const override {
    PeopleCollector collector(key);
    for (const Digest& row : sums_.rows)
      collector.AddRow(CutOfColumn(row, key));
    *people = collector.Finish();
    people->has_ids = !sums_.ids.empty();
    people->ids = sums_.ids;  // ascending, different: AddedSums
    std::erase(people->ids, PersonFingerprint{});
    return FingerprintOfDigests(sums_.features, sums_.rows, key);
  }
  absl::Status Write(const DatasetDescription&,
                     DatasetWriter* writer) override {
    std::vector<std::uint64_t> values = {sums_.people};
    values.insert(values.end(), sums_.sums.begin(), sums_.sums.end());
    const NpyHeader header{.dtype = "<i8", .shape = {values.size()}};
    return writer->Write("sums.npy", NpyHeaderBytes(header),
                         std::as_bytes(std::span(values)));
  }

 private:
  const PeopleSums sums_;
};

}  // namespace

absl::StatusOr<int> BitsOfSums(const DatasetFacts& facts,
                               std::uint64_t moment_rows) {
  // Bits follow from N, D and the bound; this epsilon is far from where noise
  // takes some of them.
  RunParameters parameters;
  parameters.dataset = facts.name;
  parameters.rank = 1;
  // The mean comes first where the rows are fewer.
  parameters.rounds = moment_rows < facts.features ? 2 : 1;
  parameters.epsilon = 1;
  parameters.delta = 1e-6;
  parameters.mechanism = kMomentsMechanism.name;
  parameters.moment_rows = static_cast<std::uint32_t>(moment_rows);
  parameters.adjacency = facts.adjacency;
  parameters.conversion = facts.conversion;
  DPNMF_ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(parameters, facts));
  return plan.data_bits;
}

void SealPart(PeopleSums* part) {
  std::sort(part->rows.begin(), part->rows.end());
  std::sort(part->ids.begin(), part->ids.end());
  part->parts.clear();
  if (part->people == 0) return;
  const std::string text = PeopleSumsText(*part);
  part->parts = {Sha256().AddBytes(std::as_bytes(std::span(text))).Finish()};
}

std::string PeopleSumsText(const PeopleSums& sums) {
  std::string text = absl::StrCat(
      std::string(kSumsMagic), " ", kSumsVersion, " ", sums.features, " ",
      sums.people, " ", sums.bits, " ",
      absl::Hex(std::bit_cast<std::uint64_t>(sums.column_bound)), " ",
      std::string(NameOf(sums.normalisation)), " ", HexOf(sums.key_check), " ",
      sums.ids.size(), " ", sums.parts.size());
  if (!sums.moment_rows.empty()) {
    absl::StrAppend(&text, "\n", std::string(kRowsWord), " ",
                    sums.moment_rows.size());
    for (const std::uint32_t row : sums.moment_rows)
      absl::StrAppend(&text, " ", row);
  }
  text += "\nsums";
  for (const std::uint64_t sum : sums.sums) absl::StrAppend(&text, " ", sum);
  text += '\n';
  for (const Digest& row : sums.rows)
    absl::StrAppend(&text, "row ", HexOf(row), "\n");
  for (const PersonFingerprint& id : sums.ids)
    absl::StrAppend(&text, "id ", HexOf(id), "\n");
  for (const Digest& part : sums.parts)
    absl::StrAppend(&text, "part ", HexOf(part), "\n");
  const Digest check =
      Sha256().AddBytes(std::as_bytes(std::span(text))).Finish();
  absl::StrAppend(&text, "end ", HexOf(check), "\n");
  return text;
}

absl::StatusOr<PeopleSums> AddedSums(std::string_view text) {
  SumsReader reader(text);
  std::optional<PeopleSums> all;
  for (reader.SkipBlankLines(); !reader.left().empty();
       reader.SkipBlankLines()) {
    std::optional<PeopleSums> block = ReadBlock(&reader);
    if (!block.has_value()) return SumsFileMalformed("a block is not whole");
    if (!all.has_value()) {
      all = std::move(block);
      continue;
    }
    if (!MadeAlike(*all, *block))
      return SumsFileMalformed(
          "blocks were made with different flags, rows or keys");
    all->people += block->people;
    for (std::size_t i = 0; i < all->sums.size(); ++i) {
      if (__builtin_add_overflow(all->sums[i], block->sums[i], &all->sums[i]))
        return SumsFileMalformed("a sum is out of range");
    }
    all->rows.insert(all->rows.end(), block->rows.begin(), block->rows.end());
    all->ids.insert(all->ids.end(), block->ids.begin(), block->ids.end());
    all->parts.insert(all->parts.end(), block->parts.begin(),
                      block->parts.end());
  }
  if (!all.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "sums-empty",
                   "There are no sums: give what dpnmf-sums printed.");
  }
  std::sort(all->rows.begin(), all->rows.end());
  std::sort(all->ids.begin(), all->ids.end());
  std::sort(all->parts.begin(), all->parts.end());
  DPNMF_RETURN_IF_ERROR(CheckCountedOnce(*all));
  return *std::move(all);
}

absl::StatusOr<std::unique_ptr<ImportSource>> LoadPeopleSums(
    const ImportOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(options.input, kOwnFileLimit));
  DPNMF_ASSIGN_OR_RETURN(PeopleSums sums, AddedSums(text));
  const bool add_remove = options.adjacency == Adjacency::kAddRemoveOne;
  if (!add_remove && sums.people != options.users_count.value_or(0)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "users-mismatch",
                   absl::StrCat("The sums are of ", sums.people,
                                " people: give each part once, and that "
                                "--users-count."));
  }
  DatasetFacts facts;
  facts.name = options.name;
  facts.features = sums.features;
  facts.users = options.users_count.value_or(0);
  facts.adjacency = options.adjacency;
  facts.conversion = options.conversion;
  facts.column_bound = options.column_bound.value_or(1);
  facts.max_rank = 1;
  facts.max_rounds = 2;
  DPNMF_ASSIGN_OR_RETURN(const int bits, BitsOfSums(facts, MomentRows(sums)));
  if (sums.bits != bits || sums.column_bound != facts.column_bound ||
      sums.normalisation !=
          options.normalisation.value_or(Normalisation::kL2)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "sums-differ",
                   "The sums were made for another --users-count, --adjacency, "
                   "--normalise or --column-bound: give the same flags to "
                   "dpnmf-sums and here.");
  }
  DPNMF_RETURN_IF_ERROR(CheckKeyOf(sums, options.data_dir));
  if (!InRange(sums)) return SumsFileMalformed("a sum is out of range");
  return std::make_unique<SumsSource>(std::move(sums));
}

}  // namespace dpnmf::curator
