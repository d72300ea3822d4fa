#include "client/files/coherence.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"
#include "common/tables/names/name_list.h"

namespace dpnmf::cli {
namespace {

// Calls entry(row, column), from 0, for each entry that is not 0.
template <typename Entry>
void ForEachEntry(const LoadedMatrix& matrix, const Entry& entry) {
  for (std::uint64_t n = 0; n < matrix.users; ++n) {
    const std::uint64_t begin =
        matrix.sparse ? static_cast<std::uint64_t>(matrix.indptr[n])
                      : n * matrix.features;
    const std::uint64_t end =
        matrix.sparse ? static_cast<std::uint64_t>(matrix.indptr[n + 1])
                      : begin + matrix.features;
    for (std::uint64_t at = begin; at < end; ++at) {
      if (matrix.values[at] > 0)
        entry(matrix.sparse ? static_cast<std::uint64_t>(matrix.indices[at])
                            : at - begin,
              n);
    }
  }
}

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
           "Public documents for UMass and NPMI of the parts: a file of counts "
           "(.mtx, also .gz), words by documents or documents by words",
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
    if (path->empty()) continue;
    DPNMF_RETURN_IF_ERROR(InputFile::Open(*path).status());
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
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<std::string> words,
      LoadNameList(flags.reference_features, {.what = "word"}));
  DPNMF_ASSIGN_OR_RETURN(const LoadedMatrix counts,
                         LoadMatrix(flags.reference, /*users_are_rows=*/false));
  // Takes the words as the rows if the matrix is square.
  const bool words_are_rows = counts.features == words.size();
  if (!words_are_rows && counts.users != words.size()) {
    return BadInput("reference-mismatch",
                    absl::StrCat("'", flags.reference, "' is ", counts.features,
                                 " x ", counts.users,
                                 " and --reference-features has ", words.size(),
                                 " words; give the words of its rows or of "
                                 "its columns."));
  }
  std::vector<Documents*> of(words.size(), nullptr);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto row = rows.find(words[i]);
    if (row != rows.end()) of[i] = &found_in_[row->second];
  }
  ForEachEntry(counts, [&](std::uint64_t row, std::uint64_t column) {
    Documents* const documents = of[words_are_rows ? row : column];
    if (documents != nullptr)
      documents->push_back(
          static_cast<std::uint32_t>(words_are_rows ? column : row));
  });
  for (auto& [row, documents] : found_in_) {
    std::sort(documents.begin(), documents.end());
    documents.erase(std::unique(documents.begin(), documents.end()),
                    documents.end());
  }
  std::erase_if(found_in_,
                [](const auto& word) { return word.second.empty(); });
  documents_ =
      static_cast<double>(words_are_rows ? counts.users : counts.features);
  has_reference_ = true;
  if (!found_in_.empty()) return absl::OkStatus();
  return BadInput("reference-foreign",
                  absl::StrCat("No feature of the data set is a word of '",
                               flags.reference, "'."));
}

absl::Status PublicText::LoadVectors(
    const std::string& path,
    const std::unordered_map<std::string, std::uint64_t>& rows) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file,
                         InputFile::Open(path));
  std::size_t dimensions = 0;
  while (true) {
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool more, file->ReadLine(&line));
    if (!more) break;
    const auto fields_of_line = [&] {
      return std::vector<std::string>(absl::StrSplit(
          View(line), absl::ByAnyChar(" \t"), absl::SkipEmpty()));
    };
    const std::string word(line.substr(0, line.find_first_of(" \t")));
    // word2vec: the number of words and of dimensions.
    if (file->line_number() == 1 && ParseWhole(word).has_value() &&
        fields_of_line().size() == 2)
      continue;
    const auto row = rows.find(word);
    if (row == rows.end()) continue;
    const std::vector<std::string> fields = fields_of_line();
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
          absl::StrCat("'", path, "', line ", file->line_number(),
                       ": not a word and its vector, as many finite numbers "
                       "on each line."));
    }
    dimensions = static_cast<std::size_t>(vector.size());
    if (vector.norm() > 0)
      vectors_.emplace(row->second, vector / vector.norm());
  }
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
