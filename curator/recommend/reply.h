// A list as the message that is served and printed.
#ifndef DPNMF_CURATOR_RECOMMEND_REPLY_H_
#define DPNMF_CURATOR_RECOMMEND_REPLY_H_

#include <vector>

#include "curator/recommend/recommender.h"
#include "dpnmf/recommend/v1/recommend.pb.h"

namespace dpnmf::curator {

recommend::v1::GetRecommendationsReply ReplyOf(
    const NamedItemModel& model, const std::vector<Recommendation>& list,
    std::size_t own_ratings);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RECOMMEND_REPLY_H_
