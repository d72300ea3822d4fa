// A release that another analyst has paid for, as it comes in (AddRelease): the
// messages of GetRelease, which anybody may have made up.
//
// What counts is signed by the curator: each round's receipt (run, data set,
// population, identity, charge, void mark) and the digest of what was released
// for it, of the run's parameters, N, the rows, the noise and, of the second of
// two releases, what it was aimed at (DigestOfRelease).
// The plan is computed here from the parameters and the data set's facts; with
// other facts the digest or the charge is another one. Not signed, and taken
// from whoever made the file: the names of features, the cap's epsilon and
// delta, the declared range and normalisation of the data set, the seed.
#ifndef DPNMF_ANALYST_RUNS_ADDED_RELEASE_H_
#define DPNMF_ANALYST_RUNS_ADDED_RELEASE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyst/runs/refit.h"
#include "analyst/store/run_store.h"
#include "common/moments/aim.h"
#include "common/nmf/round_input.h"
#include "common/wire/item_pages.h"
#include "common/wire/release.h"

namespace dpnmf::analyst {

// A data set with more features is not taken over.
inline constexpr std::uint64_t kMostAddedFeatures = 1'000'000;

// Not thread-safe. The store must outlive it. Memory: some copies of what the
// checked plan says that the release has.
class AddedRelease {
 public:
  explicit AddedRelease(RunStore* store) : store_(store) {}

  // The next message. INVALID_ARGUMENT "release-malformed", "release-newer",
  // "items-malformed"; errors of PlanRun and of CarriedRoundsReader.
  absl::Status Add(const v1::ReleaseReply& message);

  // After the last one: the run to be stored, QUEUED, without who added it; its
  // W has D rows and no columns yet. INVALID_ARGUMENT "release-malformed";
  // FAILED_PRECONDITION "release-unsigned", "release-missing",
  // "receipt-key-unknown", "receipt-key-differs"; DATA_LOSS "receipt-invalid",
  // "release-differs".
  absl::StatusOr<NewRun> Finish();

 private:
  absl::Status Begin(const v1::ReleaseHeader& header);
  absl::Status AddItems(const v1::ListItemsReply& page);
  absl::Status CheckRound(const CarriedRound& round, const v1::Receipt& first,
                          const std::string& key);
  absl::Status Learn(const CarriedRound& round);
  absl::StatusOr<RoundInput> RequestFor(const v1::StagePlan& stage,
                                        const CarriedRound& round);

  RunStore* const store_;
  NewRun run_;
  v1::RunParameters parameters_;
  std::uint64_t users_ = 0;
  std::optional<Aim> aim_;  // of the second release, once it is asked after
  double stddev_of_aimed_ = 0;
  std::optional<CarriedRoundsReader> rounds_;  // after the header
  std::optional<ItemPagesReader> items_;       // where names may come
  std::size_t item_bytes_ = 0;
  bool rounds_begun_ = false;
};

// FAILED_PRECONDITION "release-unsigned".
absl::Status ReleaseUnsigned();

// The header of a stored run's release: what AddedRelease reads, and the plan.
v1::ReleaseHeader HeaderOfRelease(const RunRecord& record,
                                  const v1::Dataset& dataset);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_ADDED_RELEASE_H_
