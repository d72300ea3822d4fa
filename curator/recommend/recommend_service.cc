#include "curator/recommend/recommend_service.h"

#include <utility>

#include "common/base/error.h"
#include "common/log/without_exceptions.h"
#include "common/server/call_record.h"
#include "common/server/refused_calls.h"
#include "common/threads/mutex.h"
#include "common/wire/status.h"
#include "curator/recommend/reply.h"
#include "curator/session/redact_for_peer.h"
#include "dpnmf/recommend/v1/recommend.grpc.pb.h"

namespace dpnmf::curator {
namespace {

namespace v1 = recommend::v1;

absl::StatusOr<ListOptions> OptionsOf(
    const v1::GetRecommendationsRequest& request) {
  ListOptions options;
  if (request.top() > kMostTop) {
    return Refusal(absl::StatusCode::kInvalidArgument, "top-out-of-range",
                   "`top` must lie in 0 to 1,000.");
  }
  if (request.top() > 0) options.top = request.top();
  if (!v1::Order_IsValid(request.order())) {
    return Refusal(absl::StatusCode::kInvalidArgument, "order-unknown",
                   "`order` must be ORDER_RELEVANCE or ORDER_RATING.");
  }
  options.by_rating = request.order() == v1::ORDER_RATING;
  options.explain = request.explain();
  return options;
}

class RecommendServiceImpl final : public v1::RecommendService::Service {
 public:
  explicit RecommendServiceImpl(RecommendServiceOptions options)
      : options_(std::move(options)),
        quota_(options_.limits),
        refused_(options_.observers) {}

  grpc::Status GetRecommendations(grpc::ServerContext* context,
                                  const v1::GetRecommendationsRequest* request,
                                  v1::GetRecommendationsReply* reply) override {
    CallRecord record(options_.observers, "GetRecommendations", *context,
                      options_.identify(*context));
    refused_.WriteDue();
    const absl::StatusOr<Quota::Lease> lease = Admit(*context);
    if (!lease.ok()) {
      refused_.Note(lease.status(), &record);
      return ToGrpc(RedactForPeer(record.Finish(lease.status())));
    }
    AuditFields about;
    absl::StatusOr<v1::GetRecommendationsReply> list =
        WithoutExceptions([&] { return ListFor(*request, &about); });
    // Without a token that passes, calls are not bounded by anybody's tokens.
    if (!list.ok() && about.empty()) refused_.Note(list.status(), &record);
    const absl::Status outcome = record.Finish(list.status(), about);
    if (!outcome.ok()) return ToGrpc(RedactForPeer(outcome));
    *reply = *std::move(list);
    record.Count(request->ByteSizeLong(), reply->ByteSizeLong());
    return grpc::Status::OK;
  }

 private:
  absl::StatusOr<Quota::Lease> Admit(const grpc::ServerContext& context) {
    DPNMF_ASSIGN_OR_RETURN(
        const Grant grant,
        options_.access->RequireFrontEnd(options_.identify(context),
                                         options_.dataset->description().name));
    if (options_.check_ready) DPNMF_RETURN_IF_ERROR(options_.check_ready());
    return quota_.Enter(grant.identity);
  }

  // The request is checked before the token is used up.
  absl::StatusOr<v1::GetRecommendationsReply> ListFor(
      const v1::GetRecommendationsRequest& request, AuditFields* about) {
    DPNMF_ASSIGN_OR_RETURN(const ListOptions list_options, OptionsOf(request));
    DPNMF_ASSIGN_OR_RETURN(const TokenClaims claims,
                           options_.tokens->Pass(request.token()));
    about->push_back({"token", claims.nonce});
    const std::optional<std::uint64_t> column = options_.find(claims.person);
    const RatedItems own =
        column ? options_.dataset->RatingsOf(*column) : RatedItems{};
    MutexLock lock(&computing_);
    std::size_t used = 0;
    DPNMF_ASSIGN_OR_RETURN(
        const std::vector<Recommendation> list,
        options_.recommender->Recommend(own, list_options, &used));
    return ReplyOf(options_.recommender->model(), list, used);
  }

  const RecommendServiceOptions options_;
  Quota quota_;
  RefusedCalls refused_;
  // One list at a time: the port takes one core of the analysts' rounds.
  Mutex computing_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeRecommendService(
    RecommendServiceOptions options) {
  return std::make_shared<RecommendServiceImpl>(std::move(options));
}

}  // namespace dpnmf::curator
