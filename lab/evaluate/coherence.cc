#include "lab/evaluate/coherence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

std::vector<int> TopWords(const Eigen::VectorXd& column, int count) {
  std::vector<int> words(static_cast<std::size_t>(column.size()));
  std::iota(words.begin(), words.end(), 0);
  const auto larger = [&](int a, int b) {
    return column(a) != column(b) ? column(a) > column(b) : a < b;
  };
  const auto kept =
      std::min<std::size_t>(words.size(), static_cast<std::size_t>(count));
  std::partial_sort(words.begin(), words.begin() + static_cast<long>(kept),
                    words.end(), larger);
  words.resize(kept);
  std::erase_if(words, [&](int word) { return !(column(word) > 0); });
  return words;
}

// Which of a topic's words a document holds, for all documents: (i, j) counts
// those with words i and j of the topic.
class PairCounts {
 public:
  PairCounts(const std::vector<Topic>& topics, Index features)
      : places_(static_cast<std::size_t>(features)) {
    for (std::size_t k = 0; k < topics.size(); ++k) {
      const auto size = static_cast<Index>(topics[k].words.size());
      counts_.push_back(MatrixXd::Zero(size, size));
      present_.emplace_back();
      for (std::size_t i = 0; i < topics[k].words.size(); ++i) {
        places_[static_cast<std::size_t>(topics[k].words[i])].push_back(
            {k, static_cast<Index>(i)});
      }
    }
  }

  void AddDocument(const DataView& v, Index user) {
    for (std::vector<Index>& present : present_) present.clear();
    v.ForNonzeros(user, [&](Index row, double) {
      for (const Place& place : places_[static_cast<std::size_t>(row)]) {
        present_[place.topic].push_back(place.word);
      }
    });
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      for (const Index i : present_[k]) {
        for (const Index j : present_[k]) counts_[k](i, j) += 1;
      }
    }
  }

  const MatrixXd& Of(std::size_t topic) const { return counts_[topic]; }

 private:
  struct Place {
    std::size_t topic;
    Index word;
  };
  std::vector<std::vector<Place>> places_;  // by feature
  std::vector<MatrixXd> counts_;
  std::vector<std::vector<Index>> present_;
};

void Score(const MatrixXd& counts, double documents, Topic* topic) {
  double pairs = 0;
  for (Index i = 1; i < counts.rows(); ++i) {
    for (Index j = 0; j < i; ++j) {
      const double both = counts(i, j) / documents;
      // Words that every document holds say nothing: 0/0 is 0.
      const double npmi = both == 0 ? -1
                          : both == 1
                              ? 0
                              : std::log(both * documents * documents /
                                         (counts(i, i) * counts(j, j))) /
                                    -std::log(both);
      topic->npmi += npmi;
      topic->umass +=
          std::log((counts(i, j) + 1) / std::max(1.0, counts(j, j)));
      ++pairs;
    }
  }
  if (pairs > 0) {
    topic->npmi /= pairs;
    topic->umass /= pairs;
  }
}

}  // namespace

std::vector<Topic> TopicsOf(const DataView& v, const MatrixXd& w, int count) {
  std::vector<Topic> topics(static_cast<std::size_t>(w.cols()));
  for (std::size_t k = 0; k < topics.size(); ++k) {
    topics[k].words = TopWords(w.col(static_cast<Index>(k)), count);
  }
  PairCounts counts(topics, v.features());
  for (Index user = 0; user < v.users(); ++user) counts.AddDocument(v, user);
  for (std::size_t k = 0; k < topics.size(); ++k) {
    Score(counts.Of(k), static_cast<double>(v.users()), &topics[k]);
  }
  return topics;
}

}  // namespace dpnmf::curator::lab
