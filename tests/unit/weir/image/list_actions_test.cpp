// Section list_actions: what a reader refuses, and what it finds.
#include "weir/image/list_actions.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weir::image::list_actions_test {
namespace {

const std::vector<image::ListEntry> lists{
    {.number = 0, .side = static_cast<std::uint8_t>(Side::allow), .reserved = {}, .name = {"ops"}},
    {.number = 3, .side = static_cast<std::uint8_t>(Side::deny), .reserved = {}, .name = {"drop"}},
    {.number = 5, .side = static_cast<std::uint8_t>(Side::deny), .reserved = {}, .name = {"bans"}}};

ListActionEntry entry(ListId list, RuleAction action, std::uint32_t packets = 0, std::uint32_t burst = 0,
                      RulePer per = RulePer::rule) {
  return {.list = list, .action = action, .per = per, .packets = packets, .burst = burst, .reserved = {}};
}

std::string refusal(const std::vector<std::byte> &section) {
  const auto view = ListActionsView::attach(section, lists);
  return view ? "" : view.error().message;
}
std::string refusal(const std::vector<ListActionEntry> &entries) {
  return refusal(image::list_actions_section(entries));
}

TEST(ListActions, are_found_by_the_number_of_their_list) {
  const auto section = image::list_actions_section(
      std::vector{entry(3, RuleAction::count), entry(5, RuleAction::rate_limit, 10, 20, RulePer::source)});
  const ListActionsView view = ListActionsView::attach(section, lists).value();
  ASSERT_NE(view.of(3), nullptr);
  EXPECT_EQ(view.of(3)->action, RuleAction::count);
  ASSERT_NE(view.of(5), nullptr);
  EXPECT_EQ(view.of(5)->packets, 10u);
  for (const ListId other : {ListId(0), ListId(4), ListId(6)}) EXPECT_EQ(view.of(other), nullptr);
  EXPECT_EQ(ListActionsView().of(3), nullptr);
  EXPECT_TRUE(image::list_actions_section({}).empty());
}

TEST(ListActions, that_there_cannot_be_are_refused) {
  EXPECT_EQ(refusal({entry(3, RuleAction::reject)}), "");
  EXPECT_NE(refusal({entry(0, RuleAction::count)}), "") << "an allow list";
  EXPECT_NE(refusal({entry(4, RuleAction::count)}), "") << "no list";
  EXPECT_NE(refusal({entry(3, RuleAction::drop)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::pass)}), "");
  EXPECT_NE(refusal({entry(3, static_cast<RuleAction>(5))}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::count, 1)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::count, 0, 0, RulePer::source)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::rate_limit, 0, 1)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::rate_limit, 1, rule_rate_max + 1)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::rate_limit, 1, 1, static_cast<RulePer>(2))}), "");
  EXPECT_NE(refusal({entry(5, RuleAction::count), entry(3, RuleAction::count)}), "");
  EXPECT_NE(refusal({entry(3, RuleAction::count), entry(3, RuleAction::reject)}), "");
}

TEST(ListActions, of_too_many_lists_that_remember_addresses_are_refused) {
  std::vector<image::ListEntry> many;
  std::vector<ListActionEntry> entries;
  for (std::uint16_t i = 0; i <= rules_per_source_max; ++i) {
    many.push_back(
        {.number = ListId(i), .side = static_cast<std::uint8_t>(Side::deny), .reserved = {}, .name = {}});
    entries.push_back(entry(ListId(i), RuleAction::rate_limit, 1, 1, RulePer::source));
  }
  EXPECT_FALSE(ListActionsView::attach(image::list_actions_section(entries), many));
  entries.pop_back();
  EXPECT_TRUE(ListActionsView::attach(image::list_actions_section(entries), many));
}

TEST(ListActions, of_another_size_or_with_reserved_bytes_are_refused) {
  const auto good = image::list_actions_section(std::vector{entry(3, RuleAction::count)});
  EXPECT_EQ(refusal(good), "");
  for (const std::size_t size : {0u, 63u, 64u, 79u}) {
    auto cut = good;
    cut.resize(size);
    EXPECT_NE(refusal(cut), "") << size;
  }
  EXPECT_NE(refusal(std::vector<std::byte>(64)), "") << "a section without lists is left out";
  auto longer = good;
  longer.resize(96);
  EXPECT_NE(refusal(longer), "");
  for (const std::size_t place : {4u, 63u, 76u, 79u}) {
    auto changed = good;
    changed[place] = std::byte{1};
    EXPECT_NE(refusal(changed), "") << place;
  }
}

} // namespace
} // namespace weir::image::list_actions_test
