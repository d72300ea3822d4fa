// A curator in memory for tests of the analyst: exact sums over a small public
// matrix (of mean and moments as lattice integers), no noise, a ledger of its
// own, and failures on demand. Not differentially private.
#ifndef DPNMF_TESTS_ANALYST_FAKE_CURATOR_H_
#define DPNMF_TESTS_ANALYST_FAKE_CURATOR_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "analyst/curators/curator_connection.h"
#include "common/crypto/ed25519.h"
#include "common/crypto/sha256.h"
#include "common/privacy/run_plan.h"
#include "common/threads/mutex.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// When a failure strikes in the life of a round.
enum class Moment { kOpen, kBeforeCharge, kAfterCharge, kClose, kAfterClose };

class FakeCurator : public CuratorConnection {
 public:
  explicit FakeCurator(Eigen::MatrixXd v);

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override;
  // Returns `items(first)`; "items-none" if `items` is null.
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override;
  absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) override;
  std::unique_ptr<RunStream> NewStream() override;

  // Called at each moment, without a lock; an error becomes the call's result.
  // Set before use.
  std::function<absl::Status(Moment, const std::string& run_id,
                             std::uint32_t round)>
      hook;

  // Facts of the data set: named features, weighted features. Set before use.
  bool named_features = false;
  bool weighted_features = false;
  // The page that begins there. Set before use.
  std::function<absl::StatusOr<v1::ListItemsReply>(std::uint64_t first)> items;

  // Alters what a round came with before it is handed over, without a lock. Set
  // before use.
  std::function<void(RoundResult*)> forge;
  // True if receipts also sign what was released. Set before use.
  bool sign_releases = true;
  // The key of the receipts. Changed while no call is under way.
  std::optional<SigningKey> key = SigningKey::Generate();

  // Rounds that are charged and whose bytes are gone. Set before use.
  std::vector<std::uint32_t> lost_rounds;
  // The operator's limit on this analyst, which the fake tells and does not
  // hold. Set before use.
  std::optional<MuSquared> own_cap;
  // Rows in one reply of GetLedger.
  std::size_t page = 1000;

  // W of every round request, in the order of arrival.
  std::vector<std::pair<std::uint32_t, Eigen::MatrixXd>> Requests() const;
  std::size_t charges() const;
  MuSquared reserved() const;
  // Damages for budget tests.
  void DropLastCharge();
  void AddForeignCharge();
  void TruncateChain(std::uint64_t rows);

  v1::Dataset dataset() const;
  // H of the fake's curator for this W: one fixed formula, so that tests can
  // repeat it.
  static Eigen::MatrixXd Coefficients(const Eigen::MatrixXd& v,
                                      const Eigen::MatrixXd& w);

 private:
  friend class FakeStream;
  struct RunRow {
    std::string parameters;
    std::uint32_t rounds = 0;
    RunPlan plan;
    MuSquared reserved;
    std::vector<v1::LedgerCharge> charges;
    std::map<std::uint32_t, Eigen::MatrixXd> asked;
    bool closed = false;
  };

  absl::StatusOr<OpenedRun> Open(const std::string& run_id,
                                 const v1::RunParameters& parameters);
  absl::StatusOr<RoundResult> Round(const std::string& run_id,
                                    std::uint32_t round,
                                    const RoundInput& input);
  std::vector<NoisedMatrix> PartsOf(const v1::RunParameters& parameters,
                                    const StagePlan& stage,
                                    const RoundInput& input) const;
  absl::StatusOr<ClosedRun> Close(const std::string& run_id);
  absl::Status Strike(Moment moment, const std::string& run_id,
                      std::uint32_t round);
  void AddReceipt(const std::string& run_id, std::uint32_t round,
                  const std::optional<Digest>& release,
                  RoundResult* result) const;
  v1::LedgerPosition Position() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddRow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Eigen::MatrixXd v_;  // D x N
  MuSquared cap_;
  mutable Mutex mutex_;
  std::map<std::string, RunRow> runs_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::LedgerCharge> charges_ ABSL_GUARDED_BY(mutex_);
  MuSquared charged_ ABSL_GUARDED_BY(mutex_);
  MuSquared reserved_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t row_count_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<std::pair<std::uint32_t, Eigen::MatrixXd>> requests_
      ABSL_GUARDED_BY(mutex_);
};

// A specification for the fake's data set.
v1::RunSpecification FakeSpecification(
    std::uint32_t rank, std::uint32_t rounds,
    const std::string& mechanism = "statistics");

// Non-negative, columns of length 1, from a fixed seed.
Eigen::MatrixXd FakeData(int features, int users);

// A directory that is removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_TESTS_ANALYST_FAKE_CURATOR_H_
