#include "curator/recommend/reply.h"

namespace dpnmf::curator {
namespace {

template <typename Message>
void SetItem(const NamedItemModel& model, std::int32_t item, Message* message) {
  const auto place = static_cast<std::size_t>(item);
  message->set_item(model.items[place]);
  if (!model.names.empty()) message->set_name(model.names[place]);
}

}  // namespace

recommend::v1::GetRecommendationsReply ReplyOf(
    const NamedItemModel& model, const std::vector<Recommendation>& list,
    std::size_t own_ratings) {
  recommend::v1::GetRecommendationsReply reply;
  reply.set_own_ratings(static_cast<std::uint32_t>(own_ratings));
  for (const Recommendation& one : list) {
    auto* const row = reply.add_recommendations();
    SetItem(model, one.item, row);
    row->set_rating(one.rating);
    row->set_stddev(one.stddev);
    for (const Contribution& reason : one.because) {
      auto* const because = row->add_because();
      SetItem(model, reason.item, because);
      because->set_rating(reason.rating);
      because->set_adds(reason.adds);
    }
  }
  return reply;
}

}  // namespace dpnmf::curator
