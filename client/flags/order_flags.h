// --image-width and --feature-order: what is declared about the features.
#ifndef DPNMF_CLIENT_FLAGS_ORDER_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_ORDER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/cli/program.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

struct OrderFlags {
  std::optional<std::uint64_t> image_width;
  std::string order;  // "linear", "circular", "graph:FILE" or "none"
};

// `flags` outlives the table.
std::vector<Flag> FlagsOfOrder(OrderFlags* flags);

// Returns the declared order; no value if none was declared. INVALID_ARGUMENT
// "feature-order-unknown", "feature-graph-invalid"; NOT_FOUND "file-missing".
absl::StatusOr<std::optional<v1::FeatureOrder>> ReadOrder(
    const OrderFlags& flags);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_ORDER_FLAGS_H_
