#include "analyst/store/stored_learner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/moments/prior.h"
#include "common/wire/prior.h"

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Columns = Eigen::SparseMatrix<double>;

// Matrices of one prior, after its number: columns (D x n), or their entries
// ((nonzeros + 1) x 3: D, n and 0, then row, column and value of each); a
// dictionary (D x L); a moment and its rows (M x 1).
constexpr char kColumnsOf[] = "columns";
constexpr char kTriplesOf[] = "triples";
constexpr char kDictionaryOf[] = "dictionary";
constexpr char kMomentOf[] = "moment";
constexpr char kRowsOf[] = "rows";
// (1 + edges) x 2: the kind and the width, then the ends of each edge.
constexpr char kFeatureOrder[] = "feature order";

constexpr char kPriorPrefix[] = "prior ";

std::string PriorName(std::size_t number, const char* what) {
  return absl::StrFormat("%s%02d %s", kPriorPrefix, number, what);
}

bool IsIndex(double value, double end) {
  return value >= 0 && value < end && value == std::floor(value);
}

// Columns in the form that has fewer numbers.
void WriteColumns(std::size_t number, const Columns& columns,
                  const MatrixWriter& write) {
  if (3 * (columns.nonZeros() + 1) >= columns.size())
    return write(PriorName(number, kColumnsOf), MatrixXd(columns));
  MatrixXd triples(columns.nonZeros() + 1, 3);
  triples.row(0) << static_cast<double>(columns.rows()),
      static_cast<double>(columns.cols()), 0;
  Index at = 1;
  for (Index n = 0; n < columns.cols(); ++n) {
    for (Columns::InnerIterator entry(columns, n); entry; ++entry)
      triples.row(at++) << static_cast<double>(entry.row()),
          static_cast<double>(n), entry.value();
  }
  write(PriorName(number, kTriplesOf), triples);
}

void WritePrior(std::size_t number, const KeptPrior& prior,
                const MatrixWriter& write) {
  if (prior.columns.size() > 0)
    return WriteColumns(number, prior.columns, write);
  if (prior.dictionary.size() > 0)
    return write(PriorName(number, kDictionaryOf), prior.dictionary);
  write(PriorName(number, kMomentOf), prior.moment);
  MatrixXd rows(static_cast<Index>(prior.rows.size()), 1);
  std::copy(prior.rows.begin(), prior.rows.end(), rows.data());
  write(PriorName(number, kRowsOf), rows);
}

void WriteOrder(const FeatureOrder& order, const MatrixWriter& write) {
  MatrixXd kept(static_cast<Index>(1 + order.edges.size()), 2);
  kept.row(0) << static_cast<double>(order.kind),
      static_cast<double>(order.width);
  for (std::size_t i = 0; i < order.edges.size(); ++i)
    kept.row(static_cast<Index>(i + 1)) << order.edges[i].from,
        order.edges[i].to;
  write(kFeatureOrder, kept);
}

absl::StatusOr<Columns> ColumnsOfTriples(const MatrixXd& triples,
                                         Index features) {
  constexpr auto kMostColumns = static_cast<double>(kMostPriorEntries);
  if (triples.rows() < 1 || triples.cols() != 3 ||
      triples(0, 0) != static_cast<double>(features) ||
      !IsIndex(triples(0, 1), kMostColumns))
    return ErrorsDamaged();
  std::vector<Eigen::Triplet<double>> entries;
  for (Index i = 1; i < triples.rows(); ++i) {
    if (!IsIndex(triples(i, 0), triples(0, 0)) ||
        !IsIndex(triples(i, 1), triples(0, 1)))
      return ErrorsDamaged();
    entries.emplace_back(static_cast<int>(triples(i, 0)),
                         static_cast<int>(triples(i, 1)), triples(i, 2));
  }
  Columns columns(features, static_cast<Index>(triples(0, 1)));
  columns.setFromTriplets(entries.begin(), entries.end());
  if (columns.nonZeros() != static_cast<Index>(entries.size()) ||
      !columns.coeffs().allFinite())
    return ErrorsDamaged();
  return columns;
}

// Takes a matrix out of those that were read; none if there is none.
class Taker {
 public:
  explicit Taker(NamedMatrices* matrices) : matrices_(matrices) {}

  std::optional<MatrixXd> operator()(const std::string& name) const {
    auto node = matrices_->extract(name);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }
  std::optional<double> Number(const std::string& name) const {
    const std::optional<MatrixXd> matrix = (*this)(name);
    return matrix.has_value() && matrix->size() == 1
               ? std::optional((*matrix)(0))
               : std::nullopt;
  }

 private:
  NamedMatrices* matrices_;
};

absl::StatusOr<KeptPrior> MomentOf(MatrixXd moment,
                                   const std::optional<MatrixXd>& rows,
                                   Index features) {
  if (!rows.has_value() || rows->cols() != 1 || rows->rows() != moment.rows() ||
      moment.rows() != moment.cols())
    return ErrorsDamaged();
  KeptPrior prior;
  for (const double row : rows->reshaped()) {
    const int least = prior.rows.empty() ? 0 : prior.rows.back() + 1;
    if (!IsIndex(row, static_cast<double>(features)) || row < least)
      return ErrorsDamaged();
    prior.rows.push_back(static_cast<int>(row));
  }
  prior.moment = std::move(moment);
  return prior;
}

absl::StatusOr<std::vector<KeptPrior>> TakePriors(const Taker& take,
                                                  Index features) {
  std::vector<KeptPrior> priors;
  while (priors.size() < kMostPriors) {
    const auto take_of = [&](const char* what) {
      return take(PriorName(priors.size(), what));
    };
    KeptPrior prior;
    if (const auto columns = take_of(kColumnsOf)) {
      if (columns->rows() != features) return ErrorsDamaged();
      prior.columns = columns->sparseView();
    } else if (const auto triples = take_of(kTriplesOf)) {
      DPNMF_ASSIGN_OR_RETURN(prior.columns,
                             ColumnsOfTriples(*triples, features));
    } else if (auto dictionary = take_of(kDictionaryOf)) {
      if (dictionary->rows() != features) return ErrorsDamaged();
      prior.dictionary = *std::move(dictionary);
    } else if (auto moment = take_of(kMomentOf)) {
      DPNMF_ASSIGN_OR_RETURN(
          prior, MomentOf(*std::move(moment), take_of(kRowsOf), features));
    } else {
      break;
    }
    priors.push_back(std::move(prior));
  }
  return priors;
}

absl::StatusOr<FeatureOrder> TakeOrder(const Taker& take, Index features) {
  FeatureOrder order;
  const std::optional<MatrixXd> kept = take(kFeatureOrder);
  if (!kept.has_value()) return order;
  constexpr double kEnd = std::numeric_limits<std::uint32_t>::max();
  if (kept->rows() < 1 || kept->cols() != 2) return ErrorsDamaged();
  for (const double number : kept->reshaped())
    if (!IsIndex(number, kEnd)) return ErrorsDamaged();
  constexpr auto kLast = static_cast<double>(FeatureOrder::Kind::kGraph);
  if ((*kept)(0, 0) < 1 || (*kept)(0, 0) > kLast ||
      ((*kept)(0, 0) < kLast && kept->rows() > 1))
    return ErrorsDamaged();
  order.kind = static_cast<FeatureOrder::Kind>(static_cast<int>((*kept)(0, 0)));
  order.width = static_cast<std::uint64_t>((*kept)(0, 1));
  for (Index i = 1; i < kept->rows(); ++i)
    order.edges.push_back({static_cast<std::uint32_t>((*kept)(i, 0)),
                           static_cast<std::uint32_t>((*kept)(i, 1))});
  if (!CheckFeatureOrder(order, static_cast<std::uint64_t>(features)).ok())
    return ErrorsDamaged();
  return order;
}

}  // namespace

void WriteFigures(const FitFigures& figures, const MatrixWriter& write) {
  if (figures.prior_share.has_value())
    write(kPriorShare, MatrixXd::Constant(1, 1, *figures.prior_share));
  if (figures.explained.has_value())
    write(kExplainedShare, MatrixXd::Constant(1, 1, *figures.explained));
}

void WriteMatrices(const LearnerState& state, const MatrixWriter& write) {
  for (std::size_t i = 0; i < state.priors.size(); ++i)
    WritePrior(i, state.priors[i], write);
  if (state.order.kind != FeatureOrder::Kind::kNone)
    WriteOrder(state.order, write);
  WriteFigures(state.figures, write);
  if (state.unlearned) write(kUnlearned, MatrixXd::Ones(1, 1));
  for (const auto& [name, matrix] : state.memory) write(name, matrix);
}

absl::StatusOr<LearnerState> LearnerOf(MatrixXd w, NamedMatrices matrices) {
  const Taker take(&matrices);
  LearnerState state;
  DPNMF_ASSIGN_OR_RETURN(state.priors, TakePriors(take, w.rows()));
  DPNMF_ASSIGN_OR_RETURN(state.order, TakeOrder(take, w.rows()));
  state.figures.prior_share = take.Number(kPriorShare);
  state.figures.explained = take.Number(kExplainedShare);
  state.unlearned = take(kUnlearned).has_value();
  for (const auto& [name, matrix] : matrices)
    if (absl::StartsWith(name, kPriorPrefix)) return ErrorsDamaged();
  state.w = std::move(w);
  state.memory = std::move(matrices);
  return state;
}

}  // namespace dpnmf::analyst
