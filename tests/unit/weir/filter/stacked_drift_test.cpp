// Hosts that are added to a judge in place: what that does to the sources that it knows, and that they are
// let through again once they have been asked about.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/build/stacked_drift.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weir::stacked_drift_test {
namespace {

using image::Change, image::DenyFilterRole;

constexpr ListId bans = 1;
constexpr std::uint32_t hosts_built = 20'000, hosts_room = hosts_built + hosts_built / 8, known_count = 4'000;

Address host(std::uint32_t number) { return Address::from_host(0x0A000000 + 3 * number); }
// Between hosts: about an address with no denied host in its /16 no filter is asked.
Address neighbour(std::uint32_t number) { return Address::from_host(host(number).host() + 1); }

class StackedDrift : public testing::TestWithParam<test::StackKind> {
protected:
  StackedDrift() {
    for (std::uint32_t i = 0; i < known_count; ++i) known.push_back(neighbour(i));
    for (std::uint32_t i = 0; i < hosts_room; ++i) hosts.push_back({host(i).host(), 32, 0, bans});
  }
  [[nodiscard]] build::BuildInput input(std::uint32_t count) const {
    build::BuildInput in;
    in.lists = {{"bans", bans}};
    in.deny = {std::span(hosts).first(count), {}};
    in.seed = seed;
    return in;
  }
  [[nodiscard]] build::DenyFilterSizes plan(double room) const {
    build::DenyFilterSizes plan = test::plan_of(GetParam(), DenyFilterRole::judge);
    plan.known = known;
    plan.room = room;
    return plan;
  }
  [[nodiscard]] std::vector<double> rates(std::uint32_t count, double room) const {
    return build::build_deny_filter(input(count).deny, plan(room), seed).value().rates;
  }
  [[nodiscard]] double denied_share(const image::ImageView &view) const {
    std::uint32_t denied = 0;
    for (const Address &a : known) denied += image::lookup(view, Side::deny, a) != 0;
    return denied / double{known_count};
  }

  const std::uint64_t seed = test::seed_or(1313);
  std::vector<Address> known;
  std::vector<build::EntryV4> hosts;
};

TEST_P(StackedDrift, is_as_the_formula_says_when_the_room_is_used_and_gone_when_the_known_are_asked_again) {
  WEIR_TRACE_SEED(seed);
  const double room = double{hosts_room} / hosts_built;
  const test::ImageMemory memory = test::build_with_stack(input(hosts_built), plan(room));
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  const std::vector<double> built = rates(hosts_built, room), now = rates(hosts_room, 1);
  const double planned = build::known_rate(now), spread = 4 * std::sqrt(planned / known_count);
  EXPECT_LE(denied_share(view), planned + spread);

  image::Delta d{.op = image::DeltaOp::set, .length = 32, .list = bans};
  for (std::uint32_t i = hosts_built; i < hosts_room; ++i) {
    d.address = host(i).bytes;
    ASSERT_NE(writer.apply(d), Change::needs_rebuild);
  }
  const double expected = build::known_rate_after(built, now), measured = denied_share(view);
  EXPECT_GT(expected, 2 * planned) << "nothing drifts: nothing is shown";
  EXPECT_NEAR(measured, expected, 0.15 * expected + 4 * std::sqrt(expected / known_count));

  std::uint32_t let_through = 0;
  for (const Address &a : known) {
    const Change change = writer.relieve(a);
    ASSERT_NE(change, Change::needs_rebuild);
    let_through += change == Change::overlay;
  }
  EXPECT_EQ(let_through, std::lround(measured * known_count))
      << "a slot of the overlay for each, and no more";
  EXPECT_EQ(denied_share(view), 0) << "no more often than planned";
  for (std::uint32_t i = 0; i < hosts_room; ++i)
    ASSERT_NE(image::lookup(view, Side::deny, host(i)), 0u) << "host " << i << " is let through";
}

INSTANTIATE_TEST_SUITE_P(Kinds, StackedDrift,
                         testing::Values(test::StackKind{.bits = 8},
                                         test::StackKind{.fuse_below = true, .bits = 8},
                                         test::StackKind{.depth = 5, .bits = 8},
                                         test::StackKind{.base = filter::FilterKind::bloom, .bits = 7}),
                         [](const auto &kind) { return test::name_of(kind.param); });

TEST(StackedDriftFormula, is_the_planned_rate_while_nothing_has_been_added) {
  const std::vector<double> rates{0.06, 0.1, 0.05, 0.2, 0.3};
  EXPECT_DOUBLE_EQ(build::known_rate_after(rates, rates), build::known_rate(rates));
}

// A stack whose layer 1 has come to accept everything is one that knew nobody, but for what it knew.
TEST(StackedDriftFormula, ends_at_what_a_stranger_meets) {
  const std::vector<double> built{0.0, 0.1, 0.05}, now{1.0, 0.1, 0.05};
  EXPECT_DOUBLE_EQ(build::known_rate_after(built, now), 1 - 0.1 + 0.1 * 0.05);
}

} // namespace
} // namespace weir::stacked_drift_test
