#include "analyst/runs/sent_priors.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/match_names.h"
#include "common/learning/paid_release.h"
#include "common/threads/parallel.h"
#include "common/wire/item_pages.h"
#include "common/wire/prior.h"

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Columns = Eigen::SparseMatrix<double>;  // D x n

absl::Status ShapeInvalid() {
  return BadInput(
      "prior-shape-invalid",
      "The entries or the names of a prior do not match its announced sizes.");
}

absl::Status NotFinite() {
  return BadInput("prior-not-finite",
                  "A prior must consist of finite numbers, also once its "
                  "columns are weighted and scaled.");
}

// Rows and columns of the matrix that is sent.
std::pair<std::uint64_t, std::uint64_t> SentShape(const v1::Prior& prior) {
  if (prior.sparse()) return {prior.nonzeros(), 3};
  return {prior.shape().rows(), prior.shape().columns()};
}

absl::Status CheckHeader(const v1::Prior& prior) {
  switch (prior.kind()) {
    case v1::PRIOR_KIND_RUN:
      return absl::OkStatus();
    case v1::PRIOR_KIND_COLUMNS:
    case v1::PRIOR_KIND_DICTIONARY:
    case v1::PRIOR_KIND_MOMENT:
      break;
    default:
      return BadInput("prior-kind-unknown",
                      "`kind` of a prior must be columns, a dictionary, a "
                      "second moment or a run.");
  }
  const auto fits = [](std::uint64_t rows, std::uint64_t columns) {
    return rows >= 1 && columns >= 1 && rows <= kMostPriorEntries &&
           columns <= kMostPriorEntries / rows;
  };
  const auto [rows, columns] = SentShape(prior);
  const bool is_square = prior.shape().rows() == prior.shape().columns();
  if (prior.source().size() > kMostPriorSource ||
      (prior.sparse() && prior.kind() != v1::PRIOR_KIND_COLUMNS) ||
      (prior.kind() == v1::PRIOR_KIND_MOMENT && !is_square) ||
      !(prior.shape().rows() >= 1 && prior.shape().columns() >= 1 &&
        prior.shape().rows() <= kMostPriorEntries &&
        prior.shape().columns() <= kMostPriorEntries))
    return ShapeInvalid();
  if (!fits(rows, columns)) {
    return BadInput("prior-too-large",
                    absl::StrCat("A prior may have at most ", kMostPriorEntries,
                                 " numbers; send fewer columns."));
  }
  return absl::OkStatus();
}

// Place of each row of a prior; -1: none.
absl::StatusOr<std::vector<Index>> PlacesOf(
    const SentPrior& prior, const std::vector<std::string>& names,
    Index features) {
  const auto rows = static_cast<Index>(prior.header.shape().rows());
  std::vector<Index> places;
  if (prior.names.empty() || names.empty()) {
    if (rows != features) {
      return BadInput(
          "prior-features-differ",
          absl::StrCat("The prior '", prior.header.source(), "' has ", rows,
                       " features and the data set has ", features,
                       "; name the features on both sides, or send the same "
                       "number of features."));
    }
    for (Index i = 0; i < rows; ++i) places.push_back(i);
    return places;
  }
  // A name of the prior that stands twice is matched once.
  const NameMatch match = MatchNames(names, prior.names);
  places.resize(prior.names.size(), -1);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (match.places[i] >= 0)
      places[static_cast<std::size_t>(match.places[i])] = static_cast<Index>(i);
  if (match.found > 0) return places;
  return BadInput(
      "prior-features-differ",
      absl::StrCat("The prior '", prior.header.source(),
                   "' cannot be used: ", NoNameFound(names, prior.names), "."));
}

MatrixXd PlacedRows(const MatrixXd& entries, const std::vector<Index>& places,
                    Index features) {
  MatrixXd placed = MatrixXd::Zero(features, entries.cols());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] >= 0)
      placed.row(places[i]) = entries.row(static_cast<Index>(i));
  return placed;
}

// Checks for a whole number from 0 to `count` - 1.
bool IsIndexBelow(double value, std::uint64_t count) {
  return value >= 0 && value < static_cast<double>(count) &&
         value == std::floor(value);
}

// Columns on all features, from triples as sent.
absl::StatusOr<Columns> PlacedTriples(const SentPrior& prior,
                                      const std::vector<Index>& places,
                                      Index features) {
  const MatrixXd& sent = prior.entries;
  const std::uint64_t count = prior.header.shape().columns();
  std::vector<Eigen::Triplet<double>> entries;
  for (Index i = 0; i < sent.rows(); ++i) {
    if (!IsIndexBelow(sent(i, 0), prior.header.shape().rows()) ||
        !IsIndexBelow(sent(i, 1), count))
      return ShapeInvalid();
    const Index row = places[static_cast<std::size_t>(sent(i, 0))];
    if (row >= 0)
      entries.emplace_back(static_cast<int>(row), static_cast<int>(sent(i, 1)),
                           sent(i, 2));
  }
  Columns columns(features, static_cast<Index>(count));
  columns.setFromTriplets(entries.begin(), entries.end());
  // A place that is sent twice has no value.
  if (columns.nonZeros() != static_cast<Index>(entries.size()))
    return ShapeInvalid();
  return columns;
}

// Factor that brings a column of this length to the data set's scale.
double ScaleOf(const std::optional<v1::Dataset>& dataset, double length) {
  if (!(length > 0)) return 1;
  if (!dataset.has_value() || dataset->normalisation() == v1::NORMALISATION_L2)
    return 1 / length;
  return std::min(1.0, dataset->column_bound() / length);
}

// Scales columns, after the weights.
void ScaleColumns(const std::optional<v1::Dataset>& dataset,
                  const std::vector<double>& weights, Columns* columns) {
  for (Index n = 0; n < columns->cols(); ++n) {
    double squares = 0;
    for (Columns::InnerIterator entry(*columns, n); entry; ++entry) {
      if (!weights.empty())
        entry.valueRef() *= weights[static_cast<std::size_t>(entry.row())];
      squares += entry.value() * entry.value();
    }
    const double scale = ScaleOf(dataset, std::sqrt(squares));
    for (Columns::InnerIterator entry(*columns, n); entry; ++entry)
      entry.valueRef() *= scale;
  }
}

// The moment of a prior on the rows that have a place, these ascending.
KeptPrior PlacedMoment(const MatrixXd& moment,
                       const std::vector<Index>& places) {
  std::vector<std::pair<int, Index>> order;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] >= 0)
      order.emplace_back(static_cast<int>(places[i]), static_cast<Index>(i));
  std::sort(order.begin(), order.end());
  KeptPrior kept;
  std::vector<Index> from;
  for (const auto& [row, at] : order) {
    kept.rows.push_back(row);
    from.push_back(at);
  }
  const MatrixXd placed = moment(from, from);
  // Halves first: no sum leaves the range of doubles.
  kept.moment = placed / 2 + placed.transpose() / 2;
  return kept;
}

absl::StatusOr<KeptPrior> PriorOfRun(const v1::Prior& header, Index features,
                                     RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const RunRecord record, store->Get(header.run_id()));
  DPNMF_ASSIGN_OR_RETURN(const LearnerState source,
                         store->ReadLearner(header.run_id()));
  DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid,
                         PaidMomentsOf(record.run, source));
  if (static_cast<Index>(paid.features) != features) {
    return BadInput(
        "prior-features-differ",
        absl::StrCat("Run ", header.run_id(), " has ", paid.features,
                     " features and the data set has ", features,
                     "; name a run on data with the same features."));
  }
  DPNMF_ASSIGN_OR_RETURN(DenoisedMoments denoised,
                         DenoiseMoments(paid.moments, {}, DefaultThreads()));
  KeptPrior kept;
  kept.moment = std::move(denoised.g);
  kept.rows = paid.rows;
  return kept;
}

absl::StatusOr<KeptPrior> PriorToKeep(const SentPrior& prior,
                                      const FeatureFacts& of,
                                      const std::optional<v1::Dataset>& dataset,
                                      Index features, RunStore* store) {
  if (prior.header.kind() == v1::PRIOR_KIND_RUN)
    return PriorOfRun(prior.header, features, store);
  DPNMF_ASSIGN_OR_RETURN(const std::vector<Index> places,
                         PlacesOf(prior, of.names, features));
  if (!prior.entries.allFinite()) return NotFinite();
  if (prior.header.kind() == v1::PRIOR_KIND_COLUMNS && dataset.has_value() &&
      of.LackWeights(*dataset)) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "weights-missing",
                   "The features of the data set have weights, but this server "
                   "has not stored them with the run; start another run.");
  }
  const bool is_moment = prior.header.kind() == v1::PRIOR_KIND_MOMENT;
  if (!is_moment && prior.entries.minCoeff() < 0)
    return BadInput("prior-negative",
                    "A prior's columns and parts must not be negative.");
  if (is_moment) return PlacedMoment(prior.entries, places);
  KeptPrior kept;
  if (prior.header.kind() == v1::PRIOR_KIND_DICTIONARY) {
    kept.dictionary = PlacedRows(prior.entries, places, features);
  } else if (prior.header.sparse()) {
    DPNMF_ASSIGN_OR_RETURN(kept.columns,
                           PlacedTriples(prior, places, features));
    ScaleColumns(dataset, of.weights, &kept.columns);
  } else {
    MatrixXd columns = PlacedRows(prior.entries, places, features);
    if (!of.weights.empty()) {
      columns.array().colwise() *=
          Eigen::Map<const Eigen::ArrayXd>(of.weights.data(), features);
    }
    for (auto column : columns.colwise())
      column *= ScaleOf(dataset, column.norm());
    kept.columns = columns.sparseView();
  }
  // Weights and lengths can leave the range of doubles.
  if (!kept.columns.coeffs().allFinite()) return NotFinite();
  return kept;
}

}  // namespace

absl::StatusOr<PriorReader> PriorReader::Create(const PriorHeaders& headers) {
  if (static_cast<std::size_t>(headers.size()) > kMostPriors) {
    return BadInput(
        "prior-too-many",
        absl::StrCat("At most ", kMostPriors, " priors can be used at once."));
  }
  PriorReader reader;
  std::uint64_t entries = 0, filled = 0, columns_of_triples = 0;
  for (const v1::Prior& header : headers) {
    DPNMF_RETURN_IF_ERROR(CheckHeader(header));
    const auto [rows, columns] = SentShape(header);
    if (header.kind() != v1::PRIOR_KIND_RUN) entries += rows * columns;
    if (header.kind() == v1::PRIOR_KIND_COLUMNS && header.sparse()) {
      filled += header.nonzeros();
      columns_of_triples += header.shape().columns();
    }
    reader.priors_.push_back({header, {}, {}});
  }
  if (columns_of_triples > filled + kMostEmptyColumns)
    return BadInput(
        "prior-too-large",
        absl::StrCat("The priors of a run may have at most ", kMostEmptyColumns,
                     " columns without an entry; leave them out."));
  if (entries > kMostPriorEntries)
    return BadInput(
        "prior-too-large",
        absl::StrCat("The priors of a run may have at most ", kMostPriorEntries,
                     " numbers; send fewer columns."));
  reader.SkipRuns();
  return reader;
}

void PriorReader::SkipRuns() {
  while (current_ < priors_.size() &&
         priors_[current_].header.kind() == v1::PRIOR_KIND_RUN)
    ++current_;
}

absl::Status PriorReader::Add(const v1::PriorFeatures& features) {
  if (current_ >= priors_.size() || matrix_.has_value()) return ShapeInvalid();
  SentPrior& prior = priors_[current_];
  if (!prior.header.named() ||
      prior.names.size() + static_cast<std::size_t>(features.names_size()) >
          prior.header.shape().rows())
    return ShapeInvalid();
  prior.names.insert(prior.names.end(), features.names().begin(),
                     features.names().end());
  return absl::OkStatus();
}

absl::Status PriorReader::Add(const v1::RealChunk& chunk) {
  if (current_ >= priors_.size()) return ShapeInvalid();
  SentPrior& prior = priors_[current_];
  if (!matrix_.has_value()) {
    if (prior.header.named() &&
        prior.names.size() != prior.header.shape().rows())
      return ShapeInvalid();
    const auto [rows, columns] = SentShape(prior.header);
    v1::MatrixShape shape;
    shape.set_rows(rows);
    shape.set_columns(columns);
    DPNMF_ASSIGN_OR_RETURN(matrix_,
                           RealMatrixReader::Create(shape, rows, columns));
  }
  DPNMF_RETURN_IF_ERROR(matrix_->Add(chunk));
  if (!matrix_->complete()) return absl::OkStatus();
  prior.entries = matrix_->Take();
  matrix_.reset();
  ++current_;
  SkipRuns();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SentPrior>> PriorReader::Finish() {
  if (current_ < priors_.size()) return ShapeInvalid();
  for (const SentPrior& prior : priors_) {
    if (prior.header.kind() != v1::PRIOR_KIND_RUN &&
        HashOfPrior(prior.names, prior.entries) != prior.header.sha256()) {
      return BadInput("prior-differs",
                      "The entries of a prior do not have the announced "
                      "digest; send them again.");
    }
  }
  return std::move(priors_);
}

absl::Status KeepPriors(const std::vector<SentPrior>& priors,
                        const FeatureFacts& features,
                        const std::optional<v1::Dataset>& dataset,
                        RunStore* store, LearnerState* state) {
  state->priors.clear();
  for (const SentPrior& prior : priors) {
    DPNMF_ASSIGN_OR_RETURN(
        state->priors.emplace_back(),
        PriorToKeep(prior, features, dataset, state->w.rows(), store));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureFacts> AskFeatures(const v1::Dataset& dataset,
                                         CuratorConnection* curator) {
  if (!HasNames(dataset)) return FeatureFacts();
  ItemPagesReader reader(dataset.features(), 0);
  std::size_t bytes = 0;
  while (!reader.complete()) {
    DPNMF_ASSIGN_OR_RETURN(const v1::ListItemsReply page,
                           curator->ListItems(dataset.name(), reader.next()));
    bytes += page.ByteSizeLong();
    if (bytes > kMostNameBytes || page.items().empty()) {
      return BadInput("items-malformed",
                      "The curator's list of names is malformed or too "
                      "long; both sides must run the same version.");
    }
    DPNMF_RETURN_IF_ERROR(reader.Add(page));
  }
  return FeatureFacts::Of(dataset, reader.Take());
}

}  // namespace dpnmf::analyst
