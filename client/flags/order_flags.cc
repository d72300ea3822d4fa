#include "client/flags/order_flags.h"

#include <string_view>

#include "common/base/error.h"
#include "common/files/feature_rows.h"

namespace dpnmf::cli {
namespace {

constexpr std::string_view kGraphOrder = "graph:";

absl::Status OrderFlagUnknown() {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "feature-order-unknown",
      "`--feature-order` must be linear, circular, graph:FILE or "
      "none, and without `--image-width`, which declares a picture.");
}

}  // namespace

std::vector<Flag> FlagsOfOrder(OrderFlags* flags) {
  return {
      Flag("--image-width", &flags->image_width,
           "Width of a picture, if columns are pictures, row by row: the fit "
           "uses that near pixels are alike, as far as the release confirms "
           "it; free",
           {.value = "W"}),
      Flag(
          "--feature-order", &flags->order,
          "The same, if features are points of a series (linear), of a circle, "
          "or nodes of a graph: FILE has two features, from 0, on each line",
          {.value = "linear|circular|graph:FILE|none"})};
}

absl::StatusOr<std::optional<v1::FeatureOrder>> ReadOrder(
    const OrderFlags& flags) {
  v1::FeatureOrder order;
  if (flags.image_width.has_value()) {
    if (!flags.order.empty()) return OrderFlagUnknown();
    order.set_kind(v1::FEATURE_ORDER_KIND_GRID);
    order.set_width(*flags.image_width);
    return order;
  }
  if (flags.order.empty()) return std::optional<v1::FeatureOrder>();
  if (flags.order == "linear") {
    order.set_kind(v1::FEATURE_ORDER_KIND_LINEAR);
  } else if (flags.order == "circular") {
    order.set_kind(v1::FEATURE_ORDER_KIND_CIRCULAR);
  } else if (flags.order == "none") {
    order.set_kind(v1::FEATURE_ORDER_KIND_NONE);
  } else if (flags.order.starts_with(kGraphOrder)) {
    order.set_kind(v1::FEATURE_ORDER_KIND_GRAPH);
    DPNMF_ASSIGN_OR_RETURN(
        const std::vector<std::uint32_t> ends,
        ReadFeatureGraph(flags.order.substr(kGraphOrder.size())));
    order.mutable_edges()->Add(ends.begin(), ends.end());
  } else {
    return OrderFlagUnknown();
  }
  return order;
}

}  // namespace dpnmf::cli
