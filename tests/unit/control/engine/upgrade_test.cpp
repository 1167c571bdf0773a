// A store that an earlier build wrote comes up with every rule. tests/golden/store_image4.tar.gz is the state
// folder of the build with image format 4: three generations of two file lists (an allow list and a deny
// list), a list of entries that were added by hand, one with a time to live, one that was deleted again.
#include "tests/support/engine_bench.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace weir::control::upgrade_test {
namespace {

constexpr std::uint64_t when_it_was_written = 1'795'494'300; // within the hour that one entry has to live

class Upgrade : public ::testing::Test {
protected:
  void SetUp() override {
    bench.stop();
    std::filesystem::remove_all(bench.path("store"));
    const std::string unpack = "tar -xzf tests/golden/store_image4.tar.gz -C " + bench.path("").string();
    ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
    bench.adjust = [this](EngineOptions &options) {
      options.clock = {.wall_s = [this] { return now; },
                       .boot_s = [this] { return 1 + now - when_it_was_written; },
                       .boot_id = "another"};
    };
    bench.restart();
    ASSERT_NE(bench.engine().rules(), nullptr);
  }

  // The name of the list that decides about a prefix on a side; empty: none.
  [[nodiscard]] std::string list_of(Side side, const char *prefix) {
    const RuleSet &rules = *bench.engine().rules();
    const auto number = effective_list(rules, bench.engine().dynamic(), side, parse_prefix(prefix).value());
    for (const RuleList &list : rules.lists)
      if (list.number == number) return list.definition.name;
    return {};
  }

  std::uint64_t now = when_it_was_written;
  test::EngineBench bench{"version: 1\nlists: []\n"};
};

TEST_F(Upgrade, loses_no_rule_of_a_file_and_no_entry) {
  EXPECT_EQ(bench.engine().live_record().id, 3u);
  EXPECT_EQ(bench.engine().rules()->lists.size(), 3u);
  EXPECT_EQ(list_of(Side::allow, "198.51.100.7/32"), "office");
  for (const char *denied : {"192.0.2.2/32", "192.0.2.3/32", "198.51.100.0/24", "2001:db8::/48"})
    EXPECT_EQ(list_of(Side::deny, denied), "drop") << denied;
  EXPECT_EQ(list_of(Side::deny, "192.0.2.1/32"), "") << "left with generation 3";
  for (const char *banned : {"203.0.113.9/32", "203.0.113.64/26", "2001:db8:bad::1/128"})
    EXPECT_EQ(list_of(Side::deny, banned), "bans") << banned;
  EXPECT_EQ(list_of(Side::deny, "203.0.113.10/32"), "") << "was deleted";
}

TEST_F(Upgrade, lets_entries_run_out_when_they_would_have) {
  now += 3 * 3600;
  bench.restart();
  ASSERT_TRUE(bench.run_until([&] { return list_of(Side::deny, "203.0.113.64/26").empty(); }));
  EXPECT_EQ(list_of(Side::deny, "203.0.113.9/32"), "bans");
}

TEST_F(Upgrade, goes_back_to_generations_of_the_earlier_build_and_on) {
  const auto back = bench.rollback(1);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->generation, 4u);
  EXPECT_EQ(list_of(Side::deny, "192.0.2.1/32"), "drop");
  EXPECT_EQ(list_of(Side::deny, "192.0.2.3/32"), "");
  EXPECT_EQ(list_of(Side::deny, "203.0.113.9/32"), "bans");
  const auto added = bench.add("bans", "203.0.113.11");
  ASSERT_TRUE(added) << added.error().message;
  bench.restart();
  EXPECT_EQ(bench.engine().live_record().id, 4u);
  EXPECT_EQ(list_of(Side::deny, "203.0.113.11/32"), "bans");
  EXPECT_EQ(list_of(Side::deny, "192.0.2.1/32"), "drop");
}

} // namespace
} // namespace weir::control::upgrade_test
