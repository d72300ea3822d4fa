// The files of the data sets against the ledger, before anybody is answered
// about them.
//
// An import enters keyed digests of a data set's files in the ledger
// (curator/data/file_digests.h). A server reads every file once: what was
// damaged, exchanged or put there since the import is not served. Until a data
// set is verified every request for it has one and the same refusal
// (Catalog::Served), whatever was read by then, and nothing is charged.
//
// Not shown: a change after the check, by whoever controls the machine.
#ifndef DPNMF_CURATOR_SESSION_VERIFICATION_H_
#define DPNMF_CURATOR_SESSION_VERIFICATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/threads/mutex.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"
#include "curator/session/pacing.h"

namespace dpnmf::curator {

// Reads all files of the data set now. Errors of Dataset::Checks and
// CheckFiles.
absl::Status VerifyDataset(const Dataset& dataset, const Ledger& ledger,
                           const Digest& file_key);

// Data sets of a catalog are verified at once while they have at most so many
// bytes together, the smallest first, and the others in the background.
inline constexpr std::uint64_t kVerifiedAtOnce = std::uint64_t{1} << 30;

// The verification of all data sets of a catalog. Thread-safe.
class Verification {
 public:
  struct Options {
    Catalog* catalog = nullptr;
    const Ledger* ledger = nullptr;
    Digest file_key{};  // KeyOfFiles, curator/import/people/fingerprint.h
    std::uint64_t at_once = kVerifiedAtOnce;
    // A data set that was verified in the background begins to be served at a
    // tick; null: at once.
    const Pacer* pacer = nullptr;
    // Called once, from any thread, if a file is not the one of the import: the
    // data set is never served. May be empty.
    std::function<void()> failed;
  };

  // Checks names and lengths of all files, verifies what it does at once, and
  // goes on with a thread for each disk. What `options` names outlives it.
  // Errors as VerifyDataset.
  static absl::StatusOr<std::unique_ptr<Verification>> Start(Options options);
  // Stops, and waits for the piece of a file that is being read.
  ~Verification();
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  // The first failure in the background, so far.
  absl::Status status() const;

 private:
  struct Work;
  explicit Verification(Options options);
  void Run(const std::vector<Work>& works);
  absl::Status RunOne(const Work& work);

  const Options options_;
  std::atomic<bool> stopped_{false};
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;  // one a disk
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_VERIFICATION_H_
