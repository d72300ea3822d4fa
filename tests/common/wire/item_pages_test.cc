#include "common/wire/item_pages.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

ItemList SomeItems(int count, int features, std::size_t name_length = 5) {
  ItemList items;
  std::mt19937_64 random(static_cast<std::uint64_t>(count));
  for (int i = 0; i < count; ++i) {
    items.ids.push_back(absl::StrCat("item-", i));
    items.names.emplace_back(random() % (name_length + 1), 'n');
  }
  for (int f = 0; f < features; ++f)
    items.feature_names.push_back(absl::StrCat("feature ", f));
  items.features = Eigen::MatrixXd::NullaryExpr(count, features, [&] {
    return std::normal_distribution<double>()(random);
  });
  return items;
}

// All pages, as the two parties exchange them.
std::vector<v1::ListItemsReply> PagesOf(const ItemList& items) {
  std::vector<v1::ListItemsReply> pages;
  std::uint64_t next = 0;
  do {
    pages.push_back(ItemPage(items, next).value());
    next += static_cast<std::uint64_t>(pages.back().items_size());
  } while (pages.back().more());
  return pages;
}

TEST(ItemPages, EveryListArrivesAsItIs) {
  for (const int count : {1, 2, 1000, 27'000}) {
    for (const int features : {0, 1, 40}) {
      const ItemList items = SomeItems(count, features);
      ItemPagesReader reader(static_cast<std::uint64_t>(count),
                             static_cast<std::uint32_t>(features));
      for (const v1::ListItemsReply& page : PagesOf(items)) {
        ASSERT_FALSE(reader.complete());
        ASSERT_LT(page.ByteSizeLong(), 1'200'000u);
        v1::ListItemsReply received;
        ASSERT_TRUE(received.ParseFromString(page.SerializeAsString()));
        ASSERT_TRUE(reader.Add(received).ok());
      }
      ASSERT_TRUE(reader.complete());
      const ItemList back = reader.Take();
      EXPECT_EQ(back.ids, items.ids);
      EXPECT_EQ(back.names, items.names);
      EXPECT_EQ(back.feature_names, items.feature_names);
      EXPECT_EQ(back.features, items.features);
    }
  }
}

TEST(ItemPages, WeightsComeWithTheItems) {
  ItemList items = SomeItems(100'000, 0);
  for (std::size_t i = 0; i < items.ids.size(); ++i)
    items.weights.push_back(static_cast<double>(i) / 7);
  const auto pages = PagesOf(items);
  ASSERT_GT(pages.size(), 1u);
  ItemPagesReader reader(100'000, 0);
  for (const v1::ListItemsReply& page : pages)
    ASSERT_TRUE(reader.Add(page).ok());
  EXPECT_EQ(reader.Take().weights, items.weights);
  const std::function<void(v1::ListItemsReply*)> spoils[] = {
      [](v1::ListItemsReply* page) { page->set_weights(0, -1); },
      [](v1::ListItemsReply* page) {
        page->set_weights(1, std::numeric_limits<double>::quiet_NaN());
      },
      [](v1::ListItemsReply* page) {
        page->set_weights(1, std::numeric_limits<double>::infinity());
      },
      [](v1::ListItemsReply* page) { page->add_weights(1); },
      [](v1::ListItemsReply* page) { page->mutable_weights()->RemoveLast(); }};
  for (const auto& spoil : spoils) {
    v1::ListItemsReply page = pages[0];
    spoil(&page);
    ItemPagesReader other(100'000, 0);
    EXPECT_EQ(ReasonCode(other.Add(page)), "items-malformed");
  }
  // Some items with and some without.
  v1::ListItemsReply without = pages[1];
  without.clear_weights();
  ItemPagesReader other(100'000, 0);
  ASSERT_TRUE(other.Add(pages[0]).ok());
  EXPECT_EQ(ReasonCode(other.Add(without)), "items-malformed");
}

// gRPC's limit is 4 MB.
TEST(ItemPages, APageOfTheLongestItemsStaysSmall) {
  ItemList items = SomeItems(100, static_cast<int>(kMostItemFeatures));
  for (std::size_t i = 0; i < items.ids.size(); ++i) {
    items.ids[i].resize(kLongestItemId, 'x');
    items.names[i].assign(kLongestItemName, 'n');
  }
  for (std::string& name : items.feature_names)
    name.resize(kLongestItemName / 8, 'f');
  for (const v1::ListItemsReply& page : PagesOf(items))
    EXPECT_LT(page.ByteSizeLong(), 2'000'000u);
}

TEST(ItemPages, ThereIsNoPageBehindTheLastItem) {
  const ItemList items = SomeItems(3, 1);
  EXPECT_EQ(ItemPage(items, 2)->items_size(), 1);
  for (const std::uint64_t first : {std::uint64_t{3}, ~std::uint64_t{0}})
    EXPECT_EQ(ReasonCode(ItemPage(items, first).status()), "item-out-of-range");
}

TEST(ItemPages, AMalformedPageIsRefused) {
  struct Case {
    const char* what;
    std::function<void(v1::ListItemsReply*)> spoil;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {"another beginning", [](auto* page) { page->set_first(1); }},
      {"empty", [](auto* page) { page->clear_items(); }},
      {"too many items",
       [](auto* page) {
         *page->add_items() = page->items(0);
         page->mutable_items(3)->set_id("another");
       }},
      {"too few items",
       [](auto* page) { page->mutable_items()->RemoveLast(); }},
      {"more than there are", [](auto* page) { page->set_more(true); }},
      {"no names of features", [](auto* page) { page->clear_feature_names(); }},
      {"one name too many", [](auto* page) { page->add_feature_names("x"); }},
      {"a name of a feature that is two lines",
       [](auto* page) { page->set_feature_names(0, "x\ny"); }},
      {"no id", [](auto* page) { page->mutable_items(1)->clear_id(); }},
      {"an id twice",
       [](auto* page) { page->mutable_items(1)->set_id("item-0"); }},
      {"a long id",
       [](auto* page) {
         page->mutable_items(1)->set_id(std::string(kLongestItemId + 1, 'x'));
       }},
      {"a long name",
       [](auto* page) {
         page->mutable_items(1)->set_name(
             std::string(kLongestItemName + 1, 'x'));
       }},
      {"a name that moves the cursor",
       [](auto* page) { page->mutable_items(1)->set_name("\x1b[2J"); }},
      {"a feature too few",
       [](auto* page) {
         page->mutable_items(2)->mutable_features()->RemoveLast();
       }},
      {"a feature too many",
       [](auto* page) { page->mutable_items(2)->add_features(1); }},
      {"a feature that is none",
       [](auto* page) { page->mutable_items(2)->set_features(0, NAN); }},
      {"an infinite feature",
       [&](auto* page) { page->mutable_items(2)->set_features(1, infinity); }},
  };
  const v1::ListItemsReply good = ItemPage(SomeItems(3, 2), 0).value();
  EXPECT_TRUE(ItemPagesReader(3, 2).Add(good).ok());
  for (const Case& bad : cases) {
    v1::ListItemsReply page = good;
    bad.spoil(&page);
    ItemPagesReader reader(3, 2);
    EXPECT_EQ(ReasonCode(reader.Add(page)), "items-malformed") << bad.what;
  }
}

TEST(ItemPages, PagesComeInOrder) {
  const auto pages = PagesOf(SomeItems(20'000, 40));
  ASSERT_GT(pages.size(), 2u);
  ItemPagesReader reader(20'000, 40);
  ASSERT_TRUE(reader.Add(pages[0]).ok());
  EXPECT_EQ(ReasonCode(reader.Add(pages[0])), "items-malformed");
  ItemPagesReader other(20'000, 40);
  EXPECT_EQ(ReasonCode(other.Add(pages[1])), "items-malformed");
}

}  // namespace
}  // namespace dpnmf
