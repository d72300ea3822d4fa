#include "analyst/curators/void_marks.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/server/metrics.h"

namespace dpnmf::analyst {
namespace {

class RememberingCurator final : public CuratorConnection {
 public:
  RememberingCurator(std::unique_ptr<CuratorConnection> curator,
                     RunStore* store, Metrics* metrics)
      : curator_(std::move(curator)), store_(store), metrics_(metrics) {}

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    DPNMF_ASSIGN_OR_RETURN(v1::ListDatasetsReply reply,
                           curator_->ListDatasets());
    for (const v1::Dataset& dataset : reply.datasets()) {
      if (!dataset.guarantee().has_void_since()) continue;
      DPNMF_RETURN_IF_ERROR(
          See(dataset.population(), dataset.guarantee().void_since()));
    }
    return reply;
  }

  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override {
    return curator_->ListItems(dataset, first);
  }

  absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) override {
    DPNMF_ASSIGN_OR_RETURN(v1::GetLedgerReply reply,
                           curator_->GetLedger(dataset, after_sequence));
    const v1::LedgerPosition& position = reply.position();
    if (!position.has_void_since()) return reply;
    DPNMF_RETURN_IF_ERROR(See(position.population(), position.void_since()));
    std::vector<VoidMark> marks;
    for (const v1::LedgerCharge& charge : reply.own_charges()) {
      marks.push_back(
          {charge.row_hash(), charge.sequence(), charge.void_signature()});
    }
    DPNMF_RETURN_IF_ERROR(store_->MarkReceipts(position.void_since(), marks));
    return reply;
  }

  std::unique_ptr<RunStream> NewStream() override {
    return curator_->NewStream();
  }

  std::unique_ptr<RunStream> NewStreamFor(const std::string& dataset) override {
    return curator_->NewStreamFor(dataset);
  }

  absl::StatusOr<std::vector<v1::MemberBudget>> MemberBudgets(
      const std::string& dataset) override {
    return curator_->MemberBudgets(dataset);
  }

 private:
  absl::Status See(const std::string& population, std::int64_t void_since) {
    if (metrics_ != nullptr) metrics_->SetVoidSince(population, void_since);
    return store_->SeeVoid(population, void_since);
  }

  const std::unique_ptr<CuratorConnection> curator_;
  RunStore* const store_;
  Metrics* const metrics_;
};

}  // namespace

std::unique_ptr<CuratorConnection> RememberVoidGuarantees(
    std::unique_ptr<CuratorConnection> curator, RunStore* store,
    Metrics* metrics) {
  return std::make_unique<RememberingCurator>(std::move(curator), store,
                                              metrics);
}

}  // namespace dpnmf::analyst
