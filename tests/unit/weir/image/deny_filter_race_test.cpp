// A stacked filter that changes beside readers: denied hosts are never lost, whichever hosts around them
// come, go and are relieved, in front of a table and as the judge.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/quiescence.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace weir::deny_filter_race_test {
namespace {

using image::DenyFilterRole;

constexpr unsigned readers = 2, stable_hosts = 512, churned_hosts = 96, added_hosts = 500;
constexpr ListId list = 1;

Address stable(std::uint64_t n) { return Address::from_host(static_cast<std::uint32_t>(0x0A000000 + n * 5)); }
Address churned(std::uint64_t n) { return Address::from_host(static_cast<std::uint32_t>(0x0A100000 + n)); }
Address added(std::uint64_t n) { return Address::from_host(static_cast<std::uint32_t>(0x0A200000 + n)); }

struct Seen {
  std::uint64_t lookups = 0, lost = 0;
};

struct Way {
  DenyFilterRole role;
  test::StackKind kind{.depth = 5, .bits = 4};
  unsigned other_hosts = 8192; // for room in the overlay
};

class DenyFilterRace : public testing::TestWithParam<Way> {
protected:
  // `acknowledged`: so many of added() are in force.
  void read_until_stopped(const image::ImageView &view, unsigned self, Seen &seen) {
    const auto burst = std::make_unique<lookup::BurstLookup>();
    std::mt19937_64 random(seed + self);
    while (!quiescence.stop.load()) {
      const unsigned there = acknowledged.load();
      burst->begin(view, lookup::best_kernels());
      for (unsigned i = 0; i < 48; ++i)
        burst->ask_v4(i, (i % 3 == 0   ? stable(random() % stable_hosts)
                          : i % 3 == 1 ? churned(random() % churned_hosts)
                                       : added(random() % std::max(there, 1u)))
                             .wire());
      burst->send();
      burst->probe_first();
      if (random() % 8 == 0) std::this_thread::yield();
      burst->finish();
      for (unsigned i = 0; i < 48; i += 3) {
        seen.lost += burst->deny(i) == 0;
        if (there != 0) seen.lost += burst->deny(i + 2) == 0;
      }
      seen.lookups += 48;
      quiescence.passed[self].fetch_add(1);
    }
  }
  static image::Delta delta(image::DeltaOp op, const Address &a) {
    return {.op = op, .length = 32, .list = list, .address = a.bytes};
  }

  const std::uint64_t seed = test::seed_or(61);
  test::Quiescence<readers> quiescence;
  std::atomic<unsigned> acknowledged = 0;
};

TEST_P(DenyFilterRace, no_denied_host_passes_while_others_come_and_go) {
  WEIR_TRACE_SEED(seed);
  std::vector<build::EntryV4> hosts;
  std::vector<Address> known;
  for (unsigned n = 0; n < stable_hosts; ++n) hosts.push_back({stable(n).host(), 32, 0, list});
  for (unsigned n = 0; n < GetParam().other_hosts; ++n) hosts.push_back({0x0AF00000 + n, 32, 0, list});
  for (unsigned n = 0; n < churned_hosts; ++n) known.push_back(churned(n));
  for (unsigned n = 0; n < 300; ++n) known.push_back(Address::from_host(0x0B000000 + n));
  build::BuildInput in;
  in.lists = {{"bans", list}};
  in.deny = {hosts, {}};
  in.seed = seed;
  build::DenyFilterSizes plan = test::plan_of(GetParam().kind, GetParam().role);
  plan.known = known;
  const test::ImageMemory memory = test::build_with_stack(in, plan);

  auto writer = image::ImageWriter::attach(memory.bytes(), [&] { quiescence.wait(); }).value();
  std::array<Seen, readers> seen;
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] { read_until_stopped(writer.view(), r, seen[r]); });
  std::mt19937_64 random(seed + 9);
  unsigned rebuilds = 0;
  for (unsigned n = 0; n < added_hosts; ++n) {
    rebuilds += writer.apply(delta(image::DeltaOp::set, added(n))) == image::Change::needs_rebuild;
    acknowledged = n + 1;
    const Address a = churned(random() % churned_hosts);
    const image::Change done =
        random() % 4 == 0
            ? writer.relieve(a)
            : writer.apply(delta(random() % 2 ? image::DeltaOp::set : image::DeltaOp::unset, a));
    rebuilds += done == image::Change::needs_rebuild;
    if (random() % 8 == 0) {
      quiescence.wait();
      writer.grace_passed();
    }
  }
  quiescence.wait_for_rounds(50);
  quiescence.stop = true;
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(rebuilds, 0u);
  for (const Seen &s : seen) {
    EXPECT_EQ(s.lost, 0u) << "of " << s.lookups;
    EXPECT_GT(s.lookups, 1000u);
  }
}

// Forms that never change put every addition into the overlay.
INSTANTIATE_TEST_SUITE_P(
    Ways, DenyFilterRace,
    testing::Values(
        Way{DenyFilterRole::front}, Way{DenyFilterRole::judge},
        Way{DenyFilterRole::judge, {.base = filter::FilterKind::chained_and, .bits = 4}, 200'000},
        Way{DenyFilterRole::judge, {.base = filter::FilterKind::chained_and_shared, .bits = 4}, 200'000},
        Way{DenyFilterRole::judge, {.base = filter::FilterKind::binary_fuse, .bits = 8}, 200'000}),
    [](const auto &way) {
      return std::string(image::name_of(way.param.role)) + "_" + test::name_of(way.param.kind);
    });

} // namespace
} // namespace weir::deny_filter_race_test
