#include "client/files/coherence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/files/input_stream.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

std::vector<std::string> FieldsOf(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

absl::Status FileNotFound(const std::string& path) {
  return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                 absl::StrCat("The file ", path, " cannot be read."));
}

// One name a line, as --features of the import.
absl::StatusOr<std::vector<std::string>> ReadWords(const std::string& path) {
  InputStream file(path);
  if (!file) return FileNotFound(path);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    words.emplace_back(absl::StripAsciiWhitespace(line));
  }
  DPNMF_RETURN_IF_ERROR(file.End());
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

// Sparse Matrix Market, entry by entry.
class MtxEntries {
 public:
  explicit MtxEntries(const std::string& path) : path_(path), file_(path) {}

  // Rows and columns.
  absl::StatusOr<std::pair<std::uint64_t, std::uint64_t>> Begin() {
    if (!file_) return FileNotFound(path_);
    DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> words, Next());
    const bool is_header = words.size() == 5 &&
                           absl::EqualsIgnoreCase(words[0], "%%matrixmarket") &&
                           absl::EqualsIgnoreCase(words[1], "matrix") &&
                           absl::EqualsIgnoreCase(words[2], "coordinate") &&
                           (absl::EqualsIgnoreCase(words[3], "real") ||
                            absl::EqualsIgnoreCase(words[3], "integer") ||
                            absl::EqualsIgnoreCase(words[3], "pattern")) &&
                           absl::EqualsIgnoreCase(words[4], "general");
    if (!is_header) return EntryMalformed();
    pattern_ = absl::EqualsIgnoreCase(words[3], "pattern");
    do {
      DPNMF_ASSIGN_OR_RETURN(words, Next());
    } while (words.empty() || words[0][0] == '%');
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    if (words.size() != 3 || !absl::SimpleAtoi(words[0], &rows_) ||
        !absl::SimpleAtoi(words[1], &columns_) ||
        !absl::SimpleAtoi(words[2], &left_) || rows_ < 1 || columns_ < 1 ||
        rows_ > kMost || columns_ > kMost)
      return EntryMalformed();
    return std::pair(rows_, columns_);
  }

  // Calls entry(row, column), from 0, for each that is not 0.
  absl::Status ForEach(
      const std::function<void(std::uint64_t, std::uint64_t)>& entry) {
    for (; left_ > 0; --left_) {
      std::vector<std::string> words;
      do {
        DPNMF_ASSIGN_OR_RETURN(words, Next());
      } while (words.empty());
      std::uint64_t row = 0, column = 0;
      double value = 1;
      if (words.size() != (pattern_ ? 2u : 3u) ||
          !absl::SimpleAtoi(words[0], &row) ||
          !absl::SimpleAtoi(words[1], &column) ||
          (!pattern_ && !absl::SimpleAtod(words[2], &value)) || row < 1 ||
          column < 1 || row > rows_ || column > columns_ || !(value >= 0))
        return EntryMalformed();
      if (value > 0) entry(row - 1, column - 1);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<std::string>> Next() {
    ++number_;
    std::string line;
    if (!std::getline(file_, line)) {
      DPNMF_RETURN_IF_ERROR(file_.End());
      return EntryMalformed();
    }
    return FieldsOf(line);
  }
  absl::Status EntryMalformed() const {
    return BadInput(
        "mtx-malformed",
        absl::StrCat("'", path_, "', line ", number_,
                     ": not a Matrix Market file of counts (coordinate, "
                     "general, entries of 0 or more)."));
  }

  const std::string path_;
  InputStream file_;
  std::uint64_t rows_ = 0, columns_ = 0, left_ = 0, number_ = 0;
  bool pattern_ = false;
};

// The mean of score(i, j) over the pairs i < j of known words; none if there is
// no pair.
template <typename Known, typename Score>
std::optional<double> MeanOverPairs(const v1::RankWords::Part& part,
                                    const Known& known, const Score& score) {
  double sum = 0;
  int pairs = 0;
  for (int j = 1; j < part.rows_size(); ++j) {
    const auto second = known.find(part.rows(j));
    if (second == known.end()) continue;
    for (int i = 0; i < j; ++i) {
      const auto first = known.find(part.rows(i));
      if (first == known.end()) continue;
      sum += score(first->second, second->second);
      ++pairs;
    }
  }
  if (pairs == 0) return std::nullopt;
  return sum / pairs;
}

// Numbers that a part may lack.
struct MeanOfParts {
  double sum = 0;
  std::uint32_t parts = 0;
  void Add(std::optional<double> value) {
    if (!value.has_value()) return;
    sum += *value;
    ++parts;
  }
  double Mean() const { return sum / parts; }
};

}  // namespace

std::vector<Flag> FlagsOfCoherence(CoherenceFlags* flags) {
  return {
      Flag("--reference", &flags->reference,
           "Public documents for UMass and NPMI of the parts: a .mtx or "
           ".mtx.gz file of counts, words by documents or documents by words",
           {.value = "FILE"}),
      Flag("--reference-features", &flags->reference_features,
           "The words of --reference, one on each line", {.value = "FILE"}),
      Flag("--word-vectors", &flags->word_vectors,
           "Public word vectors for TC-W2V: text of word2vec or GloVe",
           {.value = "FILE"}),
      Flag("--words", &flags->words,
           "Number of features of each part that the measures of coherence use",
           {.range = {2, 100}, .shown = true})};
}

absl::Status CheckCoherenceFlags(const CoherenceFlags& flags) {
  if (flags.reference.empty() != flags.reference_features.empty()) {
    return BadInput("flags-conflict",
                    "Give both `--reference FILE` and "
                    "`--reference-features FILE`, or neither.");
  }
  for (const std::string* path :
       {&flags.reference, &flags.reference_features, &flags.word_vectors}) {
    if (!path->empty() && !InputStream(*path)) return FileNotFound(*path);
  }
  return absl::OkStatus();
}

absl::StatusOr<PublicText> PublicText::Load(
    const CoherenceFlags& flags, const std::vector<std::string>& features) {
  if (features.empty()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "features-unnamed",
                   "The features of the run's data set have no names, so no "
                   "text can be compared with them.");
  }
  std::unordered_map<std::string, std::uint64_t> rows;
  for (std::size_t i = 0; i < features.size(); ++i)
    rows.emplace(features[i], static_cast<std::uint64_t>(i));
  PublicText text;
  if (!flags.reference.empty())
    DPNMF_RETURN_IF_ERROR(text.LoadReference(flags, rows));
  if (!flags.word_vectors.empty())
    DPNMF_RETURN_IF_ERROR(text.LoadVectors(flags.word_vectors, rows));
  return text;
}

absl::Status PublicText::LoadReference(
    const CoherenceFlags& flags,
    const std::unordered_map<std::string, std::uint64_t>& rows) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> words,
                         ReadWords(flags.reference_features));
  MtxEntries entries(flags.reference);
  DPNMF_ASSIGN_OR_RETURN(const auto shape, entries.Begin());
  // Takes the words as the rows if the matrix is square.
  const bool words_are_rows = shape.first == words.size();
  if (!words_are_rows && shape.second != words.size()) {
    return BadInput("reference-mismatch",
                    absl::StrCat("'", flags.reference, "' is ", shape.first,
                                 " x ", shape.second,
                                 " and --reference-features has ", words.size(),
                                 " words; give the words of its rows or of "
                                 "its columns."));
  }
  std::vector<Documents*> of(words.size(), nullptr);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto row = rows.find(words[i]);
    if (row != rows.end()) of[i] = &found_in_[row->second];
  }
  DPNMF_RETURN_IF_ERROR(
      entries.ForEach([&](std::uint64_t row, std::uint64_t column) {
        Documents* const documents = of[words_are_rows ? row : column];
        if (documents != nullptr)
          documents->push_back(
              static_cast<std::uint32_t>(words_are_rows ? column : row));
      }));
  for (auto& [row, documents] : found_in_) {
    std::sort(documents.begin(), documents.end());
    documents.erase(std::unique(documents.begin(), documents.end()),
                    documents.end());
  }
  std::erase_if(found_in_,
                [](const auto& word) { return word.second.empty(); });
  documents_ = static_cast<double>(words_are_rows ? shape.second : shape.first);
  has_reference_ = true;
  if (!found_in_.empty()) return absl::OkStatus();
  return BadInput("reference-foreign",
                  absl::StrCat("No feature of the data set is a word of '",
                               flags.reference, "'."));
}

absl::Status PublicText::LoadVectors(
    const std::string& path,
    const std::unordered_map<std::string, std::uint64_t>& rows) {
  InputStream file(path);
  if (!file) return FileNotFound(path);
  std::size_t dimensions = 0, number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::size_t blank = line.find_first_of(" \t");
    std::uint64_t count = 0;
    // word2vec: the number of words and of dimensions.
    if (number == 1 && absl::SimpleAtoi(line.substr(0, blank), &count) &&
        FieldsOf(line).size() == 2)
      continue;
    const auto row = rows.find(line.substr(0, blank));
    if (row == rows.end()) continue;
    std::vector<std::string> fields = FieldsOf(line);
    Eigen::VectorXf vector(static_cast<Eigen::Index>(fields.size()) - 1);
    bool good = vector.size() >= 1 &&
                (dimensions == 0 ||
                 static_cast<std::size_t>(vector.size()) == dimensions);
    for (Eigen::Index i = 0; i < vector.size() && good; ++i)
      good = absl::SimpleAtof(fields[static_cast<std::size_t>(i) + 1],
                              &vector(i)) &&
             std::isfinite(vector(i));
    if (!good) {
      return BadInput(
          "word-vectors-malformed",
          absl::StrCat("'", path, "', line ", number,
                       ": not a word and its vector, as many finite numbers "
                       "on each line."));
    }
    dimensions = static_cast<std::size_t>(vector.size());
    if (vector.norm() > 0)
      vectors_.emplace(row->second, vector / vector.norm());
  }
  DPNMF_RETURN_IF_ERROR(file.End());
  has_vectors_ = true;
  if (!vectors_.empty()) return absl::OkStatus();
  return BadInput(
      "reference-foreign",
      absl::StrCat("No feature of the data set is a word of '", path, "'."));
}

v1::RankCoherence PublicText::CoherenceOf(const v1::RankWords& model) const {
  MeanOfParts umass, npmi, word2vec;
  const auto met = [](const Documents& a, const Documents& b) {
    Documents both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                          std::back_inserter(both));
    return static_cast<double>(both.size());
  };
  const auto umass_of = [&](const Documents& first, const Documents& second) {
    return std::log((met(first, second) + 1) /
                    static_cast<double>(first.size()));
  };
  const auto npmi_of = [&](const Documents& first, const Documents& second) {
    const double both = met(first, second);
    if (both == 0) return -1.0;
    if (both == documents_) return 1.0;  // the limit
    const double p = both / documents_;
    const double alone = static_cast<double>(first.size()) / documents_ *
                         static_cast<double>(second.size()) / documents_;
    return std::log(p / alone) / -std::log(p);
  };
  const auto cosine = [](const Eigen::VectorXf& a, const Eigen::VectorXf& b) {
    return static_cast<double>(a.dot(b));
  };
  for (const v1::RankWords::Part& part : model.parts()) {
    umass.Add(MeanOverPairs(part, found_in_, umass_of));
    npmi.Add(MeanOverPairs(part, found_in_, npmi_of));
    word2vec.Add(MeanOverPairs(part, vectors_, cosine));
  }
  v1::RankCoherence coherence;
  coherence.set_rank(model.rank());
  coherence.set_parts(std::max(umass.parts, word2vec.parts));
  if (has_reference_ && umass.parts > 0) {
    coherence.set_umass(umass.Mean());
    coherence.set_npmi(npmi.Mean());
  }
  if (has_vectors_ && word2vec.parts > 0)
    coherence.set_word2vec(word2vec.Mean());
  return coherence;
}

}  // namespace dpnmf::cli
