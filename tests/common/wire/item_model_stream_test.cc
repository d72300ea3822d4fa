#include "common/wire/item_model_stream.h"

#include <functional>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/ratings/sample_model.h"

namespace dpnmf {
namespace {

std::vector<v1::ModelReply> Sent(const NamedItemModel& model) {
  std::vector<v1::ModelReply> replies;
  EXPECT_TRUE(WriteItemModel(model, [&](const v1::ModelReply& reply) {
    replies.push_back(reply);
    return true;
  }));
  return replies;
}

absl::StatusOr<NamedItemModel> Received(
    const v1::ItemModelHeader& header,
    const std::vector<v1::ModelReply>& replies) {
  ItemModelReader reader(header);
  for (const v1::ModelReply& reply : replies)
    DPNMF_RETURN_IF_ERROR(reader.Add(reply));
  return reader.Take();
}

TEST(ItemModelStream, AModelArrivesAsItWasInMessagesBelowTheLimit) {
  for (const int k : {0, 5}) {
    NamedItemModel model = SampleItemModel(20'000, 6, k);
    if (k == 0) {
      model.names.clear();
      model.model.loadings = model.model.loadings.cwiseAbs();
      model.model.level = 1.25;
    }
    const std::vector<v1::ModelReply> replies = Sent(model);
    EXPECT_GE(replies.size(), 10u);
    for (const v1::ModelReply& reply : replies)
      EXPECT_LT(reply.ByteSizeLong(), std::size_t{2} << 20);
    const auto received = Received(HeaderOf(model), replies);
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ(NpzText(*received), NpzText(model));
  }
}

TEST(ItemModelStream, AWriterThatStopsEndsTheStream) {
  int left = 3;
  EXPECT_FALSE(
      WriteItemModel(SampleItemModel(50, 3, 2),
                     [&](const v1::ModelReply&) { return --left > 0; }));
  EXPECT_EQ(left, 0);
}

// Every message is left out, sent twice, and changed.
TEST(ItemModelStream, WhatDoesNotContinueTheModelIsRefused) {
  const NamedItemModel model = SampleItemModel(40, 3, 2);
  const v1::ItemModelHeader header = HeaderOf(model);
  const std::vector<v1::ModelReply> good = Sent(model);
  const auto refused = [&](const v1::ItemModelHeader& of,
                           const std::vector<v1::ModelReply>& replies) {
    return ReasonCode(Received(of, replies).status()) == "model-malformed";
  };
  ASSERT_TRUE(Received(header, good).ok());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<v1::ModelReply> replies = good;
    replies.erase(replies.begin() + static_cast<std::ptrdiff_t>(i));
    // A model may be without the matrix `ranking`.
    const bool is_ranking =
        good[i].has_matrix() && good[i].matrix().name() == "ranking";
    EXPECT_EQ(refused(header, replies), !is_ranking) << i;
    replies = good;
    replies.insert(replies.begin() + static_cast<std::ptrdiff_t>(i), good[i]);
    EXPECT_TRUE(refused(header, replies)) << i;
    if (!good[i].has_matrix()) continue;
    const std::function<void(v1::ModelMatrix*)> changes[] = {
        [](v1::ModelMatrix* piece) { piece->set_name("other"); },
        [](v1::ModelMatrix* piece) { piece->mutable_shape()->set_rows(41); },
        [](v1::ModelMatrix* piece) {
          piece->mutable_shape()->set_columns(std::uint64_t{1} << 40);
        },
        [](v1::ModelMatrix* piece) { piece->mutable_entries()->set_offset(1); },
        [](v1::ModelMatrix* piece) {
          piece->mutable_entries()->set_values(3, std::nan(""));
        }};
    for (const auto& change : changes) {
      replies = good;
      change(replies[i].mutable_matrix());
      EXPECT_TRUE(refused(header, replies)) << i;
    }
  }
  v1::ItemModelHeader other = header;
  other.set_items(41);
  EXPECT_TRUE(refused(other, good));
  other.set_items(0);
  EXPECT_TRUE(refused(other, {}));
  other = header;
  other.set_residual_stddev(0);
  EXPECT_TRUE(refused(other, good));
  other = header;
  other.set_level(1);  // the factors have both signs
  EXPECT_TRUE(refused(other, good));
}

}  // namespace
}  // namespace dpnmf
