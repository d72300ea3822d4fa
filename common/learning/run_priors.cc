#include "common/learning/run_priors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "common/wire/prior.h"

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr char kPriorPrefix[] = "prior ";
// Names of the kept matrices of one prior, after its number.
constexpr char kColumnsOf[] = "columns";  // D x n
// (nonzeros + 1) x 3: D, n and 0, then row, column and value of each.
constexpr char kTriplesOf[] = "triples";
constexpr char kDictionaryOf[] = "dictionary";  // D x L
constexpr char kMomentOf[] = "moment";          // on the rows that follow
constexpr char kRowsOf[] = "rows";              // ascending

std::string PriorName(std::size_t number, const char* what) {
  return absl::StrFormat("%s%02d %s", kPriorPrefix, number, what);
}

bool IsOfPriors(const std::string& name) {
  return absl::StartsWith(name, kPriorPrefix) && name != kPriorShare;
}

// Place of each of D features among `rows`; -1: none.
std::vector<Index> PlacesAmong(const std::vector<int>& rows, Index features) {
  std::vector<Index> places(static_cast<std::size_t>(features), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    places[static_cast<std::size_t>(rows[i])] = static_cast<Index>(i);
  return places;
}

absl::StatusOr<MatrixXd> ColumnsOfTriples(const MatrixXd& triples,
                                          const std::vector<int>& rows,
                                          Index features) {
  if (triples.rows() < 1 || triples.cols() != 3 ||
      triples(0, 0) != static_cast<double>(features) ||
      !IsIndexBelow(triples(0, 1), kMostPriorEntries))
    return ErrorsDamaged();
  const auto count = static_cast<Index>(triples(0, 1));
  // A fit reads so many at most (ProposeMoments), at even distances.
  const Index used = std::min(count, kMostPriorColumns);
  const std::vector<Index> places = PlacesAmong(rows, features);
  MatrixXd columns = MatrixXd::Zero(static_cast<Index>(rows.size()), used);
  for (Index i = 1; i < triples.rows(); ++i) {
    if (!IsIndexBelow(triples(i, 0), static_cast<std::uint64_t>(features)) ||
        !IsIndexBelow(triples(i, 1), static_cast<std::uint64_t>(count)))
      return ErrorsDamaged();
    const Index row = places[static_cast<std::size_t>(triples(i, 0))];
    const auto column = static_cast<Index>(triples(i, 1));
    const Index slot = (column * used + count - 1) / count;
    if (row >= 0 && slot < used && slot * count / used == column)
      columns(row, slot) = triples(i, 2);
  }
  return columns;
}

absl::StatusOr<MatrixXd> MomentOn(const MatrixXd& moment, const MatrixXd& kept,
                                  const std::vector<int>& rows,
                                  Index features) {
  if (moment.rows() != moment.cols() || kept.rows() != moment.rows() ||
      kept.cols() != 1)
    return ErrorsDamaged();
  const std::vector<Index> places = PlacesAmong(rows, features);
  std::vector<Index> from, to;
  for (Index i = 0; i < kept.rows(); ++i) {
    if (!IsIndexBelow(kept(i, 0), static_cast<std::uint64_t>(features)))
      return ErrorsDamaged();
    const Index place = places[static_cast<std::size_t>(kept(i, 0))];
    if (place < 0) continue;
    from.push_back(i);
    to.push_back(place);
  }
  const auto size = static_cast<Index>(rows.size());
  MatrixXd on_rows = MatrixXd::Zero(size, size);
  on_rows(to, to) = moment(from, from);
  return on_rows;
}

}  // namespace

bool IsIndexBelow(double value, std::uint64_t count) {
  return value >= 0 && value < static_cast<double>(count) &&
         value == std::floor(value);
}

void KeepPriorColumns(std::size_t number, MatrixXd columns,
                      LearnerState* state) {
  const Index nonzeros = (columns.array() != 0).count();
  if (3 * (nonzeros + 1) >= columns.size()) {
    state->memory[PriorName(number, kColumnsOf)] = std::move(columns);
    return;
  }
  MatrixXd triples(nonzeros + 1, 3);
  triples.row(0) << static_cast<double>(columns.rows()),
      static_cast<double>(columns.cols()), 0;
  Index at = 1;
  for (Index n = 0; n < columns.cols(); ++n) {
    for (Index i = 0; i < columns.rows(); ++i) {
      if (columns(i, n) != 0)
        triples.row(at++) << static_cast<double>(i), static_cast<double>(n),
            columns(i, n);
    }
  }
  KeepPriorTriples(number, std::move(triples), state);
}

void KeepPriorTriples(std::size_t number, MatrixXd triples,
                      LearnerState* state) {
  state->memory[PriorName(number, kTriplesOf)] = std::move(triples);
}

void KeepPriorDictionary(std::size_t number, MatrixXd dictionary,
                         LearnerState* state) {
  state->memory[PriorName(number, kDictionaryOf)] = std::move(dictionary);
}

void KeepPriorMoment(std::size_t number, MatrixXd moment,
                     const std::vector<int>& rows, LearnerState* state) {
  MatrixXd kept(static_cast<Index>(rows.size()), 1);
  std::copy(rows.begin(), rows.end(), kept.data());
  state->memory[PriorName(number, kRowsOf)] = std::move(kept);
  state->memory[PriorName(number, kMomentOf)] = std::move(moment);
}

void CopyPriors(const LearnerState& from, LearnerState* to) {
  std::erase_if(to->memory,
                [](const auto& item) { return IsOfPriors(item.first); });
  for (const auto& [name, matrix] : from.memory)
    if (IsOfPriors(name)) to->memory[name] = matrix;
}

absl::StatusOr<std::shared_ptr<const std::vector<Prior>>> PriorsOf(
    const LearnerState& state, const std::vector<int>& rows) {
  const Index features = state.w.rows();
  auto priors = std::make_shared<std::vector<Prior>>();
  for (std::size_t i = 0; i < kMostPriors; ++i) {
    Prior prior;
    if (const MatrixXd* columns = Kept(state, PriorName(i, kColumnsOf))) {
      if (columns->rows() != features) return ErrorsDamaged();
      prior.columns = (*columns)(rows, Eigen::all);
    } else if (const MatrixXd* triples =
                   Kept(state, PriorName(i, kTriplesOf))) {
      DPNMF_ASSIGN_OR_RETURN(prior.columns,
                             ColumnsOfTriples(*triples, rows, features));
    } else if (const MatrixXd* dictionary =
                   Kept(state, PriorName(i, kDictionaryOf))) {
      if (dictionary->rows() != features) return ErrorsDamaged();
      prior.dictionary = (*dictionary)(rows, Eigen::all);
    } else if (const MatrixXd* moment = Kept(state, PriorName(i, kMomentOf))) {
      const MatrixXd* const kept = Kept(state, PriorName(i, kRowsOf));
      if (kept == nullptr) return ErrorsDamaged();
      DPNMF_ASSIGN_OR_RETURN(prior.moment,
                             MomentOn(*moment, *kept, rows, features));
    } else {
      break;
    }
    priors->push_back(std::move(prior));
  }
  if (priors->empty()) return std::shared_ptr<const std::vector<Prior>>();
  return std::shared_ptr<const std::vector<Prior>>(std::move(priors));
}

absl::StatusOr<PublicPeople> PeopleOf(const LearnerState& state) {
  const Index features = state.w.rows();
  std::vector<Eigen::Triplet<float>> entries;
  Index columns = 0;
  const auto put = [&](double row, double column, double value) {
    entries.emplace_back(static_cast<int>(row),
                         static_cast<int>(columns + static_cast<Index>(column)),
                         static_cast<float>(value));
  };
  for (std::size_t i = 0; i < kMostPriors; ++i) {
    if (const MatrixXd* full = Kept(state, PriorName(i, kColumnsOf))) {
      if (full->rows() != features) return ErrorsDamaged();
      for (Index n = 0; n < full->cols(); ++n)
        for (Index row = 0; row < features; ++row)
          if ((*full)(row, n) != 0)
            put(static_cast<double>(row), static_cast<double>(n),
                (*full)(row, n));
      columns += full->cols();
    } else if (const MatrixXd* triples =
                   Kept(state, PriorName(i, kTriplesOf))) {
      if (triples->rows() < 1 || triples->cols() != 3 ||
          !IsIndexBelow((*triples)(0, 1), kMostPriorEntries))
        return ErrorsDamaged();
      const auto count = static_cast<std::uint64_t>((*triples)(0, 1));
      for (Index at = 1; at < triples->rows(); ++at) {
        if (!IsIndexBelow((*triples)(at, 0),
                          static_cast<std::uint64_t>(features)) ||
            !IsIndexBelow((*triples)(at, 1), count))
          return ErrorsDamaged();
        put((*triples)(at, 0), (*triples)(at, 1), (*triples)(at, 2));
      }
      columns += static_cast<Index>(count);
    }
  }
  PublicPeople people(columns > 0 ? features : 0, columns);
  people.setFromTriplets(entries.begin(), entries.end());
  return people;
}

}  // namespace dpnmf::analyst
