#include "analyst/runs/sent_release.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyst/runs/added_release.h"
#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"

namespace dpnmf::analyst {
namespace {

// Checks if the rounds of second moments that the run is fitted to are kept as
// they came: that of G and, in a run of aimed, that of Z.
absl::StatusOr<bool> HasRoundsOfMoments(const std::string& run_id,
                                        const LearnerState& state,
                                        RunStore* store) {
  bool first = false, second = false;
  DPNMF_RETURN_IF_ERROR(
      store->ReadRelease(run_id, [&](const v1::ReleaseReply& message) {
        for (const v1::ReleasedPart& part : message.round().parts()) {
          first |= part.name() == kPaidMoments;
          second |= part.name() == kReleasedAimed;
        }
        return true;
      }));
  // Requires the first release, from which the request of the second follows.
  return first && (second || Kept(state, kAimNumbers) == nullptr);
}

absl::Status SumIsUnsigned() {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "release-unsigned",
      "The run is fitted to a sum of releases, which nobody has signed: export "
      "the release of each of its parents; `dpnmf show` lists them.");
}

bool WriteMatrix(const std::string& name, const Eigen::MatrixXd& matrix,
                 double stddev, double diagonal_stddev,
                 const std::function<bool(const v1::ReleaseReply&)>& write) {
  v1::ReleaseReply reply;
  v1::ReleaseMatrix& piece = *reply.mutable_matrix();
  piece.set_name(name);
  piece.mutable_shape()->set_rows(static_cast<std::uint64_t>(matrix.rows()));
  piece.mutable_shape()->set_columns(static_cast<std::uint64_t>(matrix.cols()));
  piece.set_stddev(stddev);
  piece.set_diagonal_stddev(diagonal_stddev);
  return WriteChunks(matrix, [&](const v1::RealChunk& chunk) {
    *piece.mutable_entries() = chunk;
    return write(reply);
  });
}

void WriteMatrices(const PaidMoments& paid,
                   const std::function<bool(const v1::ReleaseReply&)>& write) {
  if (!WriteMatrix(kPaidMoments, paid.moments.g, paid.moments.stddev_off,
                   paid.moments.stddev_diagonal, write))
    return;
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(paid.rows.size()), 1);
  std::copy(paid.rows.begin(), paid.rows.end(), rows.data());
  if (!WriteMatrix(kChosenRows, rows, 0, 0, write)) return;
  if (paid.mean.size() > 0)
    WriteMatrix(kPaidMean, paid.mean, paid.mean_stddev, 0, write);
}

}  // namespace

absl::StatusOr<SentRelease> FindRelease(const std::string& run_id,
                                        bool matrices, RunStore* store) {
  SentRelease sent;
  sent.matrices = matrices;
  DPNMF_ASSIGN_OR_RETURN(RunRecord record, store->Get(run_id));
  if (!matrices && record.run.joined_size() > 0) return SumIsUnsigned();
  if (!matrices && !record.run.parent().empty()) {
    DPNMF_ASSIGN_OR_RETURN(record, store->Get(record.run.parent()));
  }
  sent.run_id = record.run.run_id();
  DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                         store->ReadLearner(sent.run_id));
  DPNMF_ASSIGN_OR_RETURN(sent.paid, PaidMomentsOf(record.run, state));
  DPNMF_ASSIGN_OR_RETURN(const std::optional<v1::Dataset> dataset,
                         store->ReadDataset(sent.run_id));
  if (!matrices) {
    sent.paid = PaidMoments();
    DPNMF_ASSIGN_OR_RETURN(const bool kept,
                           HasRoundsOfMoments(sent.run_id, state, store));
    if (!kept || !dataset.has_value()) return ReleaseUnsigned();
  }
  sent.header = HeaderOfRelease(record, dataset.value_or(v1::Dataset()));
  sent.features = StoredFeatures(sent.run_id, store);
  return sent;
}

absl::Status WriteRelease(
    const SentRelease& release, RunStore* store,
    const std::function<bool(const v1::ReleaseReply&)>& write) {
  v1::ReleaseReply reply;
  *reply.mutable_header() = release.header;
  if (!write(reply)) return absl::OkStatus();
  const bool written = WriteItemPages(
      release.features.ids, {},
      [&](v1::ListItemsReply&& page) {
        *reply.mutable_items() = std::move(page);
        return write(reply);
      },
      release.features.weights);
  if (!written) return absl::OkStatus();
  if (!release.matrices) return store->ReadRelease(release.run_id, write);
  WriteMatrices(release.paid, write);
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
