// The audit log: written with what it is about, bounded by kind, and kept over restarts.
#include "control/store/store.hpp"

#include "tests/support/process.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::store::audit_test {
namespace {

using test::TempDir;

AuditRecord record(std::uint64_t at, std::string what, std::string list = {}) {
  return {.at_ms = at,
          .by = "uid 7",
          .what = std::move(what),
          .list = std::move(list),
          .detail = "+1",
          .generation = {}};
}

DynamicChange adding(std::uint64_t at) {
  DynamicChange change;
  change.touched.push_back({Side::deny, parse_prefix("10.0.0.1").value()});
  change.audit.push_back(record(at, "list add bans", "bans"));
  return change;
}

GenerationRecord generation(std::uint64_t id) {
  GenerationRecord record;
  record.id = Generation(id);
  return record;
}

std::vector<std::string> said(const Store &store, std::size_t most = 100) {
  std::vector<std::string> all;
  const auto records = store.audited(most).value();
  for (const AuditRecord &record : records) all.push_back(std::to_string(record.at_ms) + " " + record.what);
  return all;
}

TEST(Audit, is_there_after_a_restart_in_order_of_time) {
  const TempDir folder;
  AuditRecord applied = record(2, "apply");
  applied.generation = Generation(1);
  {
    auto store = Store::open(folder.path()).value();
    ASSERT_TRUE(store.write(adding(1)));
    ASSERT_TRUE(store.make_live(generation(1), {}, applied));
    ASSERT_TRUE(store.write(adding(3)));
    ASSERT_TRUE(store.audit(record(4, "confirm")));
  }
  const auto store = Store::open(folder.path()).value();
  EXPECT_EQ(said(store),
            (std::vector<std::string>{"1 list add bans", "2 apply", "3 list add bans", "4 confirm"}));
  EXPECT_EQ(said(store, 2), (std::vector<std::string>{"3 list add bans", "4 confirm"}));
  EXPECT_EQ(store.audited(100).value().at(1), applied) << "every field";
  const auto of_bans = store.audited(100, [](const AuditRecord &r) { return r.list == "bans"; });
  EXPECT_EQ(of_bans.value().size(), 2u);
}

TEST(Audit, forgets_a_generation_that_was_taken_back_and_nothing_else) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  ASSERT_TRUE(store.make_live(generation(1), {}, record(1, "first load")));
  ASSERT_TRUE(store.make_live(generation(2), {}, record(2, "apply")));
  ASSERT_TRUE(store.take_back(Generation(2), generation(1), ""));
  EXPECT_EQ(said(store), std::vector<std::string>{"1 first load"});
  ASSERT_TRUE(store.make_live(generation(3), {}, record(3, "apply")));
  EXPECT_EQ(said(store, 2), (std::vector<std::string>{"1 first load", "3 apply"}));
}

TEST(Audit, keeps_the_newest_of_each_kind) {
  const TempDir folder;
  {
    auto store = Store::open(folder.path(), Options{.audit_max = {4, 16}}).value();
    for (std::uint64_t i = 1; i <= 8; ++i) ASSERT_TRUE(store.audit(record(i, "apply")));
    for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(store.write(adding(100 + i)));
  }
  const auto store = Store::open(folder.path()).value();
  const auto all = said(store, 1000);
  const auto rules = std::ranges::count_if(all, [](const std::string &s) { return s.ends_with("apply"); });
  EXPECT_EQ(rules, 4) << "however many entries came after them";
  EXPECT_EQ(all.front(), "5 apply");
  EXPECT_GE(all.size() - static_cast<std::size_t>(rules), 16u);
  EXPECT_LE(all.size() - static_cast<std::size_t>(rules), 18u);
  EXPECT_EQ(all.back(), "200 list add bans");
}

} // namespace
} // namespace weir::store::audit_test
