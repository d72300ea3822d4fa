#include "common/moments/feature_order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr double kNoWay = std::numeric_limits<double>::infinity();

// Neighbours of every node, one list after another.
struct Neighbours {
  std::vector<std::size_t> first;    // D + 1
  std::vector<std::uint32_t> nodes;  // two for each edge
};

Neighbours NeighboursOf(const FeatureOrder& order, std::uint64_t features) {
  Neighbours result;
  result.first.assign(features + 1, 0);
  for (const FeatureOrder::Edge& edge : order.edges) {
    ++result.first[edge.from + 1];
    ++result.first[edge.to + 1];
  }
  for (std::size_t i = 0; i < features; ++i)
    result.first[i + 1] += result.first[i];
  result.nodes.resize(2 * order.edges.size());
  std::vector<std::size_t> at(result.first.begin(), result.first.end() - 1);
  for (const FeatureOrder::Edge& edge : order.edges) {
    result.nodes[at[edge.from]++] = edge.to;
    result.nodes[at[edge.to]++] = edge.from;
  }
  return result;
}

// Breadth first from each of `rows`.
MatrixXd DistancesOnGraph(const FeatureOrder& order, std::uint64_t features,
                          const std::vector<int>& rows, const Stop& stop) {
  const Neighbours neighbours = NeighboursOf(order, features);
  const auto count = static_cast<Index>(rows.size());
  MatrixXd distances(count, count);
  std::vector<std::uint32_t> queue;
  for (Index from = 0; from < count && !Stopped(stop); ++from) {
    std::vector<double> steps(features, kNoWay);
    queue.assign(
        1, static_cast<std::uint32_t>(rows[static_cast<std::size_t>(from)]));
    steps[queue[0]] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::uint32_t node = queue[at];
      for (std::size_t i = neighbours.first[node];
           i < neighbours.first[node + 1]; ++i) {
        const std::uint32_t next = neighbours.nodes[i];
        if (steps[next] != kNoWay) continue;
        steps[next] = steps[node] + 1;
        queue.push_back(next);
      }
    }
    for (Index to = 0; to < count; ++to)
      distances(to, from) =
          steps[static_cast<std::size_t>(rows[static_cast<std::size_t>(to)])];
  }
  return distances;
}

double DistanceOf(const FeatureOrder& order, std::uint64_t features,
                  std::uint64_t a, std::uint64_t b) {
  const std::uint64_t apart = a > b ? a - b : b - a;
  switch (order.kind) {
    case FeatureOrder::Kind::kGrid: {
      const auto difference = [](std::uint64_t x, std::uint64_t y) {
        return static_cast<double>(x > y ? x - y : y - x);
      };
      return std::hypot(difference(a / order.width, b / order.width),
                        difference(a % order.width, b % order.width));
    }
    case FeatureOrder::Kind::kCircular:
      return static_cast<double>(std::min(apart, features - apart));
    default:
      return static_cast<double>(apart);
  }
}

}  // namespace

absl::Status CheckFeatureOrder(const FeatureOrder& order,
                               std::uint64_t features) {
  if (order.kind == FeatureOrder::Kind::kGrid &&
      !(order.width >= 1 && order.width <= features &&
        features % order.width == 0)) {
    return BadInput(
        "image-width-invalid",
        absl::StrCat("`image_width` must divide the number of features, ",
                     features, "; ", order.width, " does not."));
  }
  if (order.kind != FeatureOrder::Kind::kGraph) return absl::OkStatus();
  if (order.edges.empty() || order.edges.size() > kMostFeatureEdges) {
    return BadInput("feature-graph-invalid",
                    absl::StrCat("A graph of features must have from 1 to ",
                                 kMostFeatureEdges, " edges."));
  }
  for (const FeatureOrder::Edge& edge : order.edges) {
    if (edge.from >= features || edge.to >= features) {
      return BadInput("feature-graph-invalid",
                      absl::StrCat("An edge of the graph ends at feature ",
                                   std::max(edge.from, edge.to),
                                   "; features are numbered from 0 to ",
                                   features - 1, "."));
    }
  }
  return absl::OkStatus();
}

MatrixXd PatternsOf(const OrderOnRows& on, const Stop& stop) {
  const FeatureOrder& order = on.order;
  const std::vector<int>& rows = on.rows;
  MatrixXd distances;
  if (order.kind == FeatureOrder::Kind::kGraph) {
    distances = DistancesOnGraph(order, on.features, rows, stop);
  } else {
    const auto count = static_cast<Index>(rows.size());
    distances.resize(count, count);
    for (Index j = 0; j < count; ++j) {
      for (Index i = 0; i < count; ++i) {
        distances(i, j) = DistanceOf(
            order, on.features,
            static_cast<std::uint64_t>(rows[static_cast<std::size_t>(i)]),
            static_cast<std::uint64_t>(rows[static_cast<std::size_t>(j)]));
      }
    }
  }
  double largest = 0;
  for (const double distance : distances.reshaped())
    if (distance != kNoWay) largest = std::max(largest, distance);
  distances = distances.cwiseMin(2 * largest + 1);
  const double range = std::max(largest / 2, 1.0);
  const MatrixXd kernel = (-distances.array() / range).exp().matrix();
  return EigenOfSymmetric(kernel, stop).vectors.rowwise().reverse();
}

}  // namespace dpnmf
