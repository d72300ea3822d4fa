#include "common/learning/synthesis.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "common/moments/class_model.h"
#include "common/moments/empirical_bayes.h"
#include "common/moments/people_model.h"
#include "common/nmf/draws.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::uint64_t kMostPeople = 10'000'000;
// Entries of the people that are in memory at once: 32 MB.
constexpr std::uint64_t kBatchEntries = std::uint64_t{1} << 22;
constexpr std::uint64_t kBatchPeople = std::uint64_t{1} << 16;

using Emit = std::function<bool(const v1::SynthesiseReply&)>;

// People, one a row, and their classes or none.
struct Batch {
  MatrixXd people;
  std::vector<std::int32_t> labels;
};
using DrawBatch = std::function<Batch(std::uint64_t count)>;

ColumnBound BoundOf(const v1::Dataset& dataset) {
  return {dataset.normalisation() == v1::NORMALISATION_L2,
          dataset.column_bound()};
}

// ---- From second moments

// Features that `rows` are not: their mean, as a share of the sum of those that
// are.
struct OtherFeatures {
  std::vector<Index> features;
  VectorXd share;
};

OtherFeatures OthersOf(const PaidMoments& paid) {
  OtherFeatures others;
  if (paid.covers_all()) return others;
  std::vector<bool> is_row(paid.features);
  for (const int row : paid.rows) is_row[static_cast<std::size_t>(row)] = true;
  for (std::size_t i = 0; i < is_row.size(); ++i)
    if (!is_row[i]) others.features.push_back(static_cast<Index>(i));
  others.share = VectorXd::Zero(static_cast<Index>(others.features.size()));
  if (paid.mean.size() == 0) return others;
  const VectorXd mean = PosteriorMeans(paid.mean, paid.mean_stddev);
  const double of_rows = mean(paid.rows).sum();
  if (of_rows > 0) others.share = mean(others.features) / of_rows;
  return others;
}

absl::StatusOr<DrawBatch> DrawerOfMoments(const PaidMoments& paid,
                                          const v1::Dataset& dataset,
                                          Draws* draws, const Stop& stop) {
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset));
  const ColumnBound bound = BoundOf(dataset);
  DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                         DenoiseMoments(paid.moments, stop));
  DPNMF_ASSIGN_OR_RETURN(
      const PeopleLaw law,
      FitPeopleLaw(
          denoised,
          paid.covers_all()
              ? bound
              : ColumnBound{false, std::numeric_limits<double>::infinity()},
          stop));
  return DrawBatch([=, rows = paid.rows, others = OthersOf(paid),
                    features = static_cast<Index>(paid.features)](
                       std::uint64_t count) {
    MatrixXd columns = DrawColumns(law, static_cast<Index>(count), draws);
    if (columns.rows() < features) {
      MatrixXd all = MatrixXd::Zero(features, columns.cols());
      for (Index n = 0; n < columns.cols(); ++n) {
        all(rows, n) = columns.col(n);
        all(others.features, n) = columns.col(n).sum() * others.share;
      }
      BoundColumns(bound, &all);
      columns = std::move(all);
    }
    if (facts.range.has_value()) {
      columns = columns.cwiseMax(facts.range->low).cwiseMin(facts.range->high);
      if (facts.range->integers) columns = columns.array().round().matrix();
    }
    return Batch{columns.transpose(), {}};
  });
}

// ---- From classes

absl::StatusOr<DrawBatch> DrawerOfClasses(const v1::Run& run,
                                          const LearnerState& state,
                                          const v1::Dataset& dataset,
                                          Draws* draws) {
  const MatrixXd* const sums = Kept(state, "Z");
  const MatrixXd* const stddev = Kept(state, "Z stddev");
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset));
  const auto damaged = [] {
    return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                   "The stored release of the run cannot be read; restore the "
                   "state directory from a backup.");
  };
  if (sums == nullptr || stddev == nullptr || stddev->size() != 1 ||
      !sums->allFinite() || !stddev->allFinite())
    return damaged();
  const absl::StatusOr<NoisedClasses> noised =
      NoisedClassesOf(facts, run.plan().data_bits(), (*stddev)(0), *sums);
  if (!noised.ok()) return damaged();
  return DrawBatch([facts, draws,
                    classes = FitClasses(*noised)](std::uint64_t count) {
    const DrawnPeople drawn =
        DrawPeople(classes, facts, count, [draws] { return draws->Normal(); });
    std::vector<Index> order(count);
    std::iota(order.begin(), order.end(), Index{0});
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(
          order[i - 1],
          order[static_cast<std::size_t>(draws->Index(static_cast<Index>(i)))]);
    Batch batch{drawn.values(order, Eigen::all), {}};
    for (const Index person : order)
      batch.labels.push_back(drawn.labels[static_cast<std::size_t>(person)]);
    return batch;
  });
}

// ---- Replies

v1::SynthesiseReply HeaderOf(const v1::SynthesiseRequest& request,
                             const v1::Dataset& dataset, bool has_labels) {
  v1::SynthesiseReply reply;
  v1::SynthesiseHeader& header = *reply.mutable_header();
  header.set_count(request.count());
  header.set_features(dataset.features());
  if (has_labels) *header.mutable_classes() = dataset.classes().names();
  header.set_integers(dataset.range().integers());
  return reply;
}

// The chunks' offsets count from the first person.
bool EmitBatch(const Batch& batch, std::uint64_t first, const Emit& emit) {
  v1::SynthesiseReply labels;
  for (const std::int32_t label : batch.labels)
    labels.mutable_labels()->add_labels(static_cast<std::uint32_t>(label));
  if (!batch.labels.empty() && !emit(labels)) return false;
  // Row after row is column after column of the transpose.
  const MatrixXd columns = batch.people.transpose();
  return WriteChunks(columns, [&](const v1::RealChunk& chunk) {
    v1::SynthesiseReply reply;
    *reply.mutable_people() = chunk;
    reply.mutable_people()->set_offset(
        chunk.offset() + first * static_cast<std::uint64_t>(columns.rows()));
    return emit(reply);
  });
}

}  // namespace

absl::Status SynthesisePeople(const v1::SynthesiseRequest& request,
                              const v1::Run& run, const LearnerState& state,
                              const v1::Dataset& dataset, const Stop& stop,
                              const Emit& emit) {
  if (!(request.count() >= 1 && request.count() <= kMostPeople)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "count-out-of-range",
                   "`count` must be from 1 to 10,000,000.");
  }
  Draws draws(request.seed());
  const bool has_labels = Kept(state, "Z") != nullptr;
  DrawBatch draw;
  if (has_labels) {
    DPNMF_ASSIGN_OR_RETURN(draw, DrawerOfClasses(run, state, dataset, &draws));
  } else {
    DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid, PaidMomentsOf(run, state));
    DPNMF_ASSIGN_OR_RETURN(draw, DrawerOfMoments(paid, dataset, &draws, stop));
  }
  if (!emit(HeaderOf(request, dataset, has_labels))) return absl::OkStatus();
  const std::uint64_t most = std::clamp<std::uint64_t>(
      kBatchEntries / std::max<std::uint64_t>(1, dataset.features()), 1,
      kBatchPeople);
  for (std::uint64_t done = 0; done < request.count();) {
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
    const std::uint64_t count = std::min(most, request.count() - done);
    if (!EmitBatch(draw(count), done, emit)) return absl::OkStatus();
    done += count;
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
