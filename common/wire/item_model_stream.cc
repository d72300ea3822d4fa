#include "common/wire/item_model_stream.h"

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/wire/matrix_stream.h"

namespace dpnmf {
namespace {

absl::Status Malformed() { return AnswerIncomplete("model"); }

bool IsEmpty(const std::string& text) { return text.empty(); }

}  // namespace

v1::ItemModelHeader HeaderOf(const NamedItemModel& model) {
  v1::ItemModelHeader header;
  header.set_items(model.items.size());
  header.set_low(model.model.low);
  header.set_high(model.model.high);
  header.set_residual_stddev(model.model.residual_stddev);
  header.set_level(model.model.level);
  return header;
}

bool WriteItemModel(const NamedItemModel& model,
                    const std::function<bool(const v1::ModelReply&)>& write) {
  v1::ModelReply reply;
  const bool items =
      WriteItemPages(model.items, model.names, [&](v1::ListItemsReply&& page) {
        *reply.mutable_items() = std::move(page);
        return write(reply);
      });
  if (!items) return false;
  for (const auto& [name, values] : ArraysOf(model.model)) {
    v1::ModelMatrix& piece = *reply.mutable_matrix();
    piece.set_name(name);
    piece.mutable_shape()->set_rows(static_cast<std::uint64_t>(values.rows()));
    piece.mutable_shape()->set_columns(
        static_cast<std::uint64_t>(values.cols()));
    const bool written = WriteChunks(values, [&](const v1::RealChunk& chunk) {
      *piece.mutable_entries() = chunk;
      return write(reply);
    });
    if (!written) return false;
  }
  return true;
}

ItemModelReader::ItemModelReader(const v1::ItemModelHeader& header)
    : items_(header.items()), pages_(header.items(), 0) {
  model_.model.low = header.low();
  model_.model.high = header.high();
  model_.model.residual_stddev = header.residual_stddev();
  model_.model.level = header.level();
}

absl::Status ItemModelReader::Add(const v1::ModelReply& reply) {
  if (reply.has_items() && !pages_.complete())
    return pages_.Add(reply.items()).ok() ? absl::OkStatus() : Malformed();
  if (reply.has_matrix() && pages_.complete()) return AddMatrix(reply.matrix());
  return Malformed();
}

absl::Status ItemModelReader::AddMatrix(const v1::ModelMatrix& piece) {
  if (!matrix_.has_value()) {
    if (!seen_.insert(piece.name()).second || piece.shape().rows() != items_)
      return Malformed();
    absl::StatusOr<RealMatrixReader> matrix = RealMatrixReader::Create(
        piece.shape(), static_cast<std::uint64_t>(kMostModelItems),
        static_cast<std::uint64_t>(kMostModelColumns));
    if (!matrix.ok()) return Malformed();
    matrix_.emplace(*std::move(matrix));
    name_ = piece.name();
  }
  if (piece.name() != name_ || !matrix_->Add(piece.entries()).ok())
    return Malformed();
  if (!matrix_->complete()) return absl::OkStatus();
  const absl::Status set = SetArray(name_, matrix_->Take(), &model_.model);
  matrix_.reset();
  return set.ok() ? set : Malformed();
}

absl::StatusOr<NamedItemModel> ItemModelReader::Take() {
  if (!pages_.complete() || matrix_.has_value()) return Malformed();
  ItemList list = pages_.Take();
  model_.items = std::move(list.ids);
  model_.names = std::move(list.names);
  if (std::all_of(model_.names.begin(), model_.names.end(), IsEmpty))
    model_.names.clear();
  if (!CheckItemModel(model_).ok()) return Malformed();
  return std::move(model_);
}

}  // namespace dpnmf
