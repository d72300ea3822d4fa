// How well the largest features of each part go together in public text: an
// answer to "how many topics", beside the release's own. All of it is computed
// on this machine from public files; nothing is sent and nothing is charged.
//
// Of the first words w_1, w_2, ... of a part (the largest entries of its column
// of W, falling), over all pairs i < j:
//   UMass (Mimno et al. 2011)        mean of log((D(w_i, w_j) + 1) / D(w_i))
//   NPMI (Bouma 2009; Lau, Newman and Baldwin 2014)
//                                    mean of log(p_ij / (p_i p_j)) / -log p_ij;
//                                    -1 where the two never meet
//   TC-W2V (O'Callaghan et al. 2015) mean cosine of the words' vectors
// D(...) is the number of reference documents with all of these words, p = D /
// documents. A word that the reference does not have is left out.
#ifndef DPNMF_CLIENT_FILES_COHERENCE_H_
#define DPNMF_CLIENT_FILES_COHERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cli/program.h"
#include "dpnmf/v1/analyst.pb.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

struct CoherenceFlags {
  std::string reference, reference_features, word_vectors;
  std::uint32_t words = 10;  // of each part: 2 to 100

  bool any() const { return !reference.empty() || !word_vectors.empty(); }
};

// --reference, --reference-features, --word-vectors and --words. `flags`
// outlives the table.
std::vector<Flag> FlagsOfCoherence(CoherenceFlags* flags);
// INVALID_ARGUMENT "flags-conflict": --reference and --reference-features come
// together; errors of InputFile::Open. Before anything is asked of a server.
absl::Status CheckCoherenceFlags(const CoherenceFlags& flags);

// Contents of the files about the features of one data set. Immutable.
class PublicText {
 public:
  // `features`: D names, the rows of W. Of the files only what is about them is
  // kept. FAILED_PRECONDITION "features-unnamed" without names;
  // INVALID_ARGUMENT "reference-mismatch" (the matrix has
  // another number of words than --reference-features),
  // "word-vectors-malformed", "reference-foreign" (no feature is a word of the
  // files); errors of LoadMatrix, which reads the counts.
  static absl::StatusOr<PublicText> Load(
      const CoherenceFlags& flags, const std::vector<std::string>& features);

  v1::RankCoherence CoherenceOf(const v1::RankWords& model) const;

 private:
  using Documents = std::vector<std::uint32_t>;  // ascending, each once

  absl::Status LoadReference(
      const CoherenceFlags& flags,
      const std::unordered_map<std::string, std::uint64_t>& rows);
  absl::Status LoadVectors(
      const std::string& path,
      const std::unordered_map<std::string, std::uint64_t>& rows);

  bool has_reference_ = false;
  double documents_ = 0;
  // By row of W; a row that is not known is not there.
  std::unordered_map<std::uint64_t, Documents> found_in_;
  std::unordered_map<std::uint64_t, Eigen::VectorXf> vectors_;  // length 1
  bool has_vectors_ = false;
};

// A measure of one rank: its name in tables and files, and its value.
struct CoherenceMeasure {
  const char *title, *column;
  std::optional<double> (*of)(const v1::RankCoherence& coherence);
};
inline constexpr CoherenceMeasure kCoherenceMeasures[] = {
    {"UMass", "umass",
     [](const v1::RankCoherence& one) {
       return one.has_umass() ? std::optional(one.umass()) : std::nullopt;
     }},
    {"NPMI", "npmi",
     [](const v1::RankCoherence& one) {
       return one.has_npmi() ? std::optional(one.npmi()) : std::nullopt;
     }},
    {"TC-W2V", "word2vec", [](const v1::RankCoherence& one) {
       return one.has_word2vec() ? std::optional(one.word2vec()) : std::nullopt;
     }}};

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FILES_COHERENCE_H_
