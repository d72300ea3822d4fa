#include "common/learning/run_order.h"

#include <string>

#include "common/base/error.h"
#include "common/crypto/sha256.h"

namespace dpnmf::analyst {
namespace {

absl::Status OrderUnknown() {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "feature-order-unknown",
      "`kind` of the order of features must be a grid, linear, circular or a "
      "graph; only a graph has edges, each with two ends.");
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
  state->order = order;
  if (order.edges.empty()) return absl::OkStatus();
  Sha256 digest;
  for (const std::uint32_t end : sent.edges()) digest.AddInteger(end);
  const auto bytes = digest.Finish();
  sent.set_edges_sha256(std::string(bytes.begin(), bytes.end()));
  sent.clear_edges();
  return absl::OkStatus();
}

std::shared_ptr<const OrderOnRows> OrderOn(const LearnerState& state,
                                           const std::vector<int>& rows) {
  if (state.order.kind == FeatureOrder::Kind::kNone) return nullptr;
  return std::make_shared<const OrderOnRows>(OrderOnRows{
      state.order, static_cast<std::uint64_t>(state.w.rows()), rows});
}

}  // namespace dpnmf::analyst
