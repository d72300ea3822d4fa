#include "common/learning/run_priors.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Column = Eigen::SparseMatrix<double>::InnerIterator;

// Place of each of D features among `rows`; -1: none.
std::vector<Index> PlacesAmong(const std::vector<int>& rows, Index features) {
  std::vector<Index> places(static_cast<std::size_t>(features), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    places[static_cast<std::size_t>(rows[i])] = static_cast<Index>(i);
  return places;
}

// A fit reads kMostPriorColumns of them at most (ProposeMoments), at even
// distances.
MatrixXd ColumnsOn(const Eigen::SparseMatrix<double>& kept,
                   const std::vector<Index>& places, Index rows) {
  const Index used = std::min(kept.cols(), kMostPriorColumns);
  MatrixXd columns = MatrixXd::Zero(rows, used);
  for (Index i = 0; i < used; ++i) {
    for (Column entry(kept, i * kept.cols() / used); entry; ++entry) {
      const Index place = places[static_cast<std::size_t>(entry.row())];
      if (place >= 0) columns(place, i) = entry.value();
    }
  }
  return columns;
}

MatrixXd MomentOn(const KeptPrior& kept, const std::vector<Index>& places,
                  Index rows) {
  std::vector<Index> from, to;
  for (std::size_t i = 0; i < kept.rows.size(); ++i) {
    const Index place = places[static_cast<std::size_t>(kept.rows[i])];
    if (place < 0) continue;
    from.push_back(static_cast<Index>(i));
    to.push_back(place);
  }
  MatrixXd moment = MatrixXd::Zero(rows, rows);
  moment(to, to) = kept.moment(from, from);
  return moment;
}

}  // namespace

std::shared_ptr<const std::vector<Prior>> PriorsOf(
    const LearnerState& state, const std::vector<int>& rows) {
  if (state.priors.empty()) return nullptr;
  const std::vector<Index> places = PlacesAmong(rows, state.w.rows());
  const auto count = static_cast<Index>(rows.size());
  auto priors = std::make_shared<std::vector<Prior>>();
  for (const KeptPrior& kept : state.priors) {
    Prior prior;
    if (kept.columns.size() > 0) {
      prior.columns = ColumnsOn(kept.columns, places, count);
    } else if (kept.dictionary.size() > 0) {
      prior.dictionary = kept.dictionary(rows, Eigen::all);
    } else {
      prior.moment = MomentOn(kept, places, count);
    }
    priors->push_back(std::move(prior));
  }
  return priors;
}

PublicPeople PeopleOf(const LearnerState& state) {
  Index columns = 0;
  for (const KeptPrior& prior : state.priors) columns += prior.columns.cols();
  PublicPeople people(columns > 0 ? state.w.rows() : 0, columns);
  Index at = 0;
  for (const KeptPrior& prior : state.priors) {
    for (Index n = 0; n < prior.columns.cols(); ++n, ++at) {
      people.startVec(at);
      for (Column entry(prior.columns, n); entry; ++entry)
        people.insertBack(entry.row(), at) = static_cast<float>(entry.value());
    }
  }
  people.finalize();
  return people;
}

}  // namespace dpnmf::analyst
