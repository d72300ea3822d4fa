#include "common/learning/run_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"

namespace dpnmf::analyst {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// (1 + edges) x 2: the kind and the width, then the ends of each edge.
constexpr char kFeatureOrder[] = "feature order";

absl::Status OrderUnknown() {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "feature-order-unknown",
      "`kind` of the order of features must be a grid, linear, circular or a "
      "graph; only a graph has edges, each with two ends.");
}

bool IsOrderNumber(double number, double end) {
  return number >= 0 && number < end && number == std::floor(number);
}

}  // namespace

absl::StatusOr<FeatureOrder> OrderOf(const v1::FeatureOrder& sent,
                                     std::uint64_t features) {
  FeatureOrder order;
  switch (sent.kind()) {
    case v1::FEATURE_ORDER_KIND_GRID:
      order.kind = FeatureOrder::Kind::kGrid;
      break;
    case v1::FEATURE_ORDER_KIND_LINEAR:
      order.kind = FeatureOrder::Kind::kLinear;
      break;
    case v1::FEATURE_ORDER_KIND_CIRCULAR:
      order.kind = FeatureOrder::Kind::kCircular;
      break;
    case v1::FEATURE_ORDER_KIND_GRAPH:
      order.kind = FeatureOrder::Kind::kGraph;
      break;
    case v1::FEATURE_ORDER_KIND_NONE:
      break;
    default:
      return OrderUnknown();
  }
  const bool is_graph = order.kind == FeatureOrder::Kind::kGraph;
  if (sent.edges_size() % 2 != 0 || (!is_graph && sent.edges_size() > 0))
    return OrderUnknown();
  order.width = order.kind == FeatureOrder::Kind::kGrid ? sent.width() : 0;
  for (int i = 0; i + 1 < sent.edges_size(); i += 2)
    order.edges.push_back({sent.edges(i), sent.edges(i + 1)});
  DPNMF_RETURN_IF_ERROR(CheckFeatureOrder(order, features));
  return order;
}

absl::Status KeepOrder(v1::RunSpecification* specification,
                       LearnerState* state) {
  if (!specification->has_feature_order()) return absl::OkStatus();
  v1::FeatureOrder& sent = *specification->mutable_feature_order();
  DPNMF_ASSIGN_OR_RETURN(
      const FeatureOrder order,
      OrderOf(sent, static_cast<std::uint64_t>(state->w.rows())));
  if (order.kind == FeatureOrder::Kind::kNone) {
    specification->clear_feature_order();
    return absl::OkStatus();
  }
  MatrixXd kept(static_cast<Index>(1 + order.edges.size()), 2);
  kept.row(0) << static_cast<double>(sent.kind()),
      static_cast<double>(order.width);
  for (std::size_t i = 0; i < order.edges.size(); ++i)
    kept.row(static_cast<Index>(i + 1)) << order.edges[i].from,
        order.edges[i].to;
  state->memory[kFeatureOrder] = std::move(kept);
  if (order.edges.empty()) return absl::OkStatus();
  Sha256 digest;
  for (const std::uint32_t end : sent.edges()) digest.AddInteger(end);
  const auto bytes = digest.Finish();
  sent.set_edges_sha256(std::string(bytes.begin(), bytes.end()));
  sent.clear_edges();
  return absl::OkStatus();
}

void CopyOrder(const LearnerState& from, LearnerState* to) {
  if (const MatrixXd* const kept = Kept(from, kFeatureOrder))
    to->memory[kFeatureOrder] = *kept;
}

absl::StatusOr<std::shared_ptr<const OrderOnRows>> OrderOn(
    const LearnerState& state, const std::vector<int>& rows) {
  const MatrixXd* const kept = Kept(state, kFeatureOrder);
  if (kept == nullptr) return std::shared_ptr<const OrderOnRows>();
  constexpr double kEnd = std::numeric_limits<std::uint32_t>::max();
  v1::FeatureOrder sent;
  if (kept->rows() < 1 || kept->cols() != 2) return ErrorsDamaged();
  for (const double number : kept->reshaped())
    if (!IsOrderNumber(number, kEnd)) return ErrorsDamaged();
  sent.set_kind(static_cast<v1::FeatureOrderKind>(
      static_cast<int>(std::min((*kept)(0, 0), 1000.0))));
  sent.set_width(static_cast<std::uint64_t>((*kept)(0, 1)));
  for (Index i = 1; i < kept->rows(); ++i) {
    sent.add_edges(static_cast<std::uint32_t>((*kept)(i, 0)));
    sent.add_edges(static_cast<std::uint32_t>((*kept)(i, 1)));
  }
  OrderOnRows on;
  on.features = static_cast<std::uint64_t>(state.w.rows());
  absl::StatusOr<FeatureOrder> order = OrderOf(sent, on.features);
  if (!order.ok() || order->kind == FeatureOrder::Kind::kNone)
    return ErrorsDamaged();
  on.order = *std::move(order);
  on.rows = rows;
  return std::make_shared<const OrderOnRows>(std::move(on));
}

}  // namespace dpnmf::analyst
