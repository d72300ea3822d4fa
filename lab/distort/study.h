// `dpnmf-lab distort`: every method on one table, what it changes, what it is
// still good for and what an attacker finds in it. Without privacy.
#ifndef DPNMF_LAB_DISTORT_STUDY_H_
#define DPNMF_LAB_DISTORT_STUDY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/attack/attack.h"
#include "lab/distort/accuracy.h"
#include "lab/distort/methods.h"
#include "lab/distort/places.h"
#include "lab/tables/table.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

struct DistortStudyOptions {
  std::vector<const DistortMethod*> methods;
  DistortOptions distort;
  SvmOptions svm;
  // Compares r = rank to 1 for methods with components and takes the r of
  // largest VD whose accuracy is at most `accuracy_loss` below the original's;
  // if there is no such r, all components. With distort.nmf.stop_at_vd the VD
  // must be at least stop_at_vd too; without classes the r of the least such VD
  // is taken.
  bool rank_search = false;
  double accuracy_loss = 0.01;
  // A generator with a seed, for public tables alone; not set: from the
  // operating system.
  std::optional<std::uint64_t> seed;
  AttackOptions attack;  // its seed, publish, progress and stop are set here
  std::function<bool()> stop;
  // Reports the current step to the terminal; of long factorisations also how
  // far.
  std::function<void(const std::string& what)> progress;
};

// Most iterations of a factorisation of so many numbers where none are asked
// for: as published, but above 500,000 numbers 1e10 divided by their count,
// and at least 100.
int MostIterationsFor(Eigen::Index numbers);

struct DistortFigures {
  int kept = 0;  // components; 0 of a method without
  double vd = 0;
  double objective = 0;  // |A - A~|_F
  PlaceChanges by_sort_index, by_rank;
  std::optional<Accuracy> accuracy;  // not set without classes
};

struct DistortOutcome {
  const DistortMethod* method = nullptr;
  DistortOptions options;
  DistortFigures figures;
  std::vector<DistortFigures> ranks;  // of a rank search, r falling
  // Course of an NMF, without its factors; not set for other methods.
  std::optional<NmfResult> nmf;
  std::optional<double> sparseness_w, sparseness_h;
  double seconds = 0;
  AttackReport attack;
};

struct DistortStudy {
  std::int64_t people = 0, columns = 0;
  double length = 0;                        // |A|_F
  std::optional<double> original_accuracy;  // not set without classes
  std::vector<DistortOutcome> outcomes;
};

// Calls `keep` with each distorted table as soon as it is judged; the table is
// then forgotten. Errors of CheckDistort, FoldsOf and Attack come before the
// first call of `keep`, but CANCELLED "cancelled". INVALID_ARGUMENT
// "rank-search-needs-class": a rank search without classes and without
// stop_at_vd has nothing to choose by.
absl::StatusOr<DistortStudy> StudyDistortions(
    const Table& table, const DistortStudyOptions& options,
    const std::function<absl::Status(const DistortOutcome& outcome,
                                     const Table& distorted)>& keep);

// The publication's tables II (iterations against the rank) and III (both
// algorithms, from one start, against the tolerance).
struct NmfTrial {
  int table = 2;
  bool multiplicative = false;
  int rank = 0;
  double tolerance = 0;
  NmfResult result = {};  // factors are left out
};
// Ranks from min(people, columns, rank + 2) to 1; tolerances 1e-3 to 1e-6, at
// most 50,000 iterations. The table is not negative, nor 0.
absl::StatusOr<std::vector<NmfTrial>> NmfTrials(
    const Eigen::MatrixXd& a, const DistortStudyOptions& options);

// metrics.csv: `method,vd,rp,rk,cp,ck,accuracy,linked_all_known,linked_4_known,
// membership_auc`; places as the publication's program took them, accuracy on
// distorted rows. Empty where not measured.
std::string DistortCsv(const DistortStudy& study);
// iterations.csv of tables II and III.
std::string NmfTrialsCsv(const std::vector<NmfTrial>& trials);
nlohmann::ordered_json ToJson(const DistortOutcome& outcome);
nlohmann::ordered_json ToJson(const DistortStudy& study,
                              const std::vector<NmfTrial>& trials);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_STUDY_H_
