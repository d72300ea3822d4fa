// An item model as the messages of AnalystService.GetModel, and back.
#ifndef DPNMF_COMMON_WIRE_ITEM_MODEL_STREAM_H_
#define DPNMF_COMMON_WIRE_ITEM_MODEL_STREAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "common/ratings/model_file.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf {

v1::ItemModelHeader HeaderOf(const NamedItemModel& model);

// Calls write(reply) for the items, then for the matrices; stops and returns
// false when write does. `model` must pass CheckItemModel.
bool WriteItemModel(const NamedItemModel& model,
                    const std::function<bool(const v1::ModelReply&)>& write);

// Gathers what follows the header. Not thread-safe. Memory is taken as messages
// arrive.
class ItemModelReader {
 public:
  explicit ItemModelReader(const v1::ItemModelHeader& header);

  // DATA_LOSS "model-malformed" for what does not continue the model.
  absl::Status Add(const v1::ModelReply& reply);
  // DATA_LOSS "model-malformed" unless all has come and is a model that can be
  // used (CheckItemModel). Once only.
  absl::StatusOr<NamedItemModel> Take();

 private:
  absl::Status AddMatrix(const v1::ModelMatrix& piece);

  std::uint64_t items_;
  ItemPagesReader pages_;
  NamedItemModel model_;
  std::set<std::string> seen_;  // matrices that have begun
  std::string name_;            // of the one under way
  std::optional<RealMatrixReader> matrix_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_ITEM_MODEL_STREAM_H_
