// A whole image under change: readers ask in bursts, like workers, while one writer applies deltas
// to addresses and prefixes of both families and sides, /0 and the corner addresses among them.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/image_memory.hpp"
#include "tests/support/quiescence.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace weir::image_race_test {
namespace {

using image::Change;

constexpr unsigned readers = 2;
constexpr ListId stable_list = 1, churned_list = 2;

Address corner(unsigned n) {
  static constexpr const char *text[] = {"0.0.0.0", "255.255.255.255",
                                         "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
  return parse_address(text[n]).value();
}

// Stable hosts hide below churned prefixes of equal and of shorter address.
struct Plan {
  std::vector<Address> stable;  // hosts that stay on both sides: always found as hosts
  std::vector<Prefix> churned;  // come and go
  std::vector<Address> watched; // addresses that only churned prefixes cover

  Plan() {
    for (unsigned n = 0; n < 4; ++n) stable.push_back(corner(n));
    for (unsigned n = 0; n < 40; ++n) {
      stable.push_back(Address::from_host(0x0A000000 + n * 7));
      Address v6;
      v6.family = Family::ipv6;
      v6.bytes[0] = 0x20;
      v6.bytes[15] = static_cast<std::uint8_t>(n);
      if (n < 20) stable.push_back(v6);
    }
    for (const Address &a : stable)
      for (const unsigned up : {1u, 8u, 12u}) {
        const unsigned length = address_bits(a.family) - up;
        churned.push_back({masked(a, length), static_cast<std::uint8_t>(length)});
      }
    for (const char *p :
         {"0.0.0.0/0", "::/0", "10.0.0.0/8", "10.0.0.0/16", "8.0.0.0/7", "2000::/12", "255.0.0.0/9"})
      churned.push_back(parse_prefix(p).value());
    for (unsigned n = 0; n < 100; ++n) churned.push_back({Address::from_host(0xC6336400 + n), 32});
    std::sort(churned.begin(), churned.end());
    churned.erase(std::unique(churned.begin(), churned.end()), churned.end());
    for (unsigned n = 0; n < 100; ++n) watched.push_back(Address::from_host(0xC6336400 + n));
    for (const char *a : {"10.255.0.1", "1.2.3.4", "255.1.2.3", "2001:db8::1"})
      watched.push_back(parse_address(a).value());
  }
};

test::ImageMemory build_stable(const Plan &plan, std::uint64_t seed, bool front, test::AllowFilterKind guard,
                               build::Predictor predictor, build::HostHome home) {
  std::vector<build::EntryV4> v4;
  std::vector<build::EntryV6> v6;
  for (const Address &a : plan.stable) {
    if (a.family == Family::ipv4)
      v4.push_back({a.host(), 32, 0, stable_list});
    else
      v6.push_back({a.bytes, 128, 0, stable_list});
  }
  test::sort_entries(v4);
  test::sort_entries(v6);
  build::BuildInput in;
  in.lists = {{"stable", stable_list}, {"churned", churned_list}};
  in.deny = {v4, v6, front};
  in.allow = {v4, v6, false};
  in.deny.predictor = in.allow.predictor = predictor;
  in.deny.hosts_v4 = home;
  in.seed = seed;
  if (guard ==
      test::AllowFilterKind::cuckoo) // nearly full: most keys that come have to wait for others to move
    in.allow_filter.params = build::CuckooParams{260, {70, 9}};
  if (guard == test::AllowFilterKind::seesaw) // small and soon worn: counts stay at their maximum
    in.allow_filter.params =
        build::SeesawParams{.planned_keys = 400, .cell_words = 256, .modulator_words = 32};
  std::vector<build::VulnerableKey> known; // half of what comes and goes
  if (guard == test::AllowFilterKind::stacked) {
    in.allow_filter.params = build::StackedCountingParams{400, {{128, 2, 3}, {8, 1, 2}, {64, 2, 3}}};
    for (std::size_t i = 0; i < plan.churned.size(); i += 2) known.push_back({plan.churned[i]});
    in.allow_filter.guarded = known;
  }
  return test::ImageMemory::build(in);
}

using Quiescence = test::Quiescence<readers>;

// What a worker asks before it asks an allow table.
bool guard_lets_pass(const image::ImageView &view, const Address &host) {
  if (view.allow_filter.empty()) return true;
  return view.allow_filter.contains(host.family == Family::ipv4
                                        ? hash_v4(host.wire(), view.seeds_v4[32])
                                        : hash_v6(host.bytes.data(), view.seeds_v6[128]));
}

struct Seen {
  std::uint64_t lookups = 0, lost = 0, invented = 0;
};

void read_until_stopped(const image::ImageView &view, const Plan &plan, Quiescence &quiescence, unsigned self,
                        std::uint64_t seed, Seen &seen) {
  const auto burst = std::make_unique<lookup::BurstLookup>();
  std::mt19937_64 random(seed);
  std::vector<Address> asked(32);
  const auto kernels = lookup::available_kernels();
  while (!quiescence.stop.load()) {
    burst->begin(view, *kernels[random() % kernels.size()]);
    for (unsigned i = 0; i < asked.size(); ++i) {
      asked[i] =
          i % 2 ? plan.stable[random() % plan.stable.size()] : plan.watched[random() % plan.watched.size()];
      if (asked[i].family == Family::ipv4)
        burst->ask_v4(i, asked[i].wire());
      else
        burst->ask_v6(i, asked[i].bytes.data());
    }
    for (unsigned i = 1; i < asked.size(); i += 2) seen.lost += !guard_lets_pass(view, asked[i]);
    burst->send();
    burst->probe_first();
    if (random() % 8 == 0) std::this_thread::yield();
    if (random() % 2 == 0) burst->settle();
    if (random() % 8 == 0) std::this_thread::yield();
    burst->finish();
    for (unsigned i = 0; i < asked.size(); ++i)
      for (const std::uint32_t v : {burst->deny(i), burst->allow(i)}) {
        if (i % 2)
          seen.lost += v != table::value::make(stable_list, address_bits(asked[i].family)) ? 1 : 0;
        else
          seen.invented += v != 0 && table::value::list_of(v) != churned_list ? 1 : 0;
      }
    seen.lookups += asked.size();
    quiescence.passed[self].fetch_add(1);
    if (random() % 16 == 0) std::this_thread::yield();
  }
}

struct RaceCase {
  bool front = false, batches = false;
  test::AllowFilterKind guard = test::AllowFilterKind::none;
  build::Predictor predictor = build::Predictor::inline_bits;
  build::HostHome home = build::HostHome::table;
};
class ImageRace : public testing::TestWithParam<RaceCase> {};

TEST_P(ImageRace, stable_hosts_are_found_through_every_change_around_them) {
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  const Plan plan;
  const test::ImageMemory memory =
      build_stable(plan, seed, GetParam().front, GetParam().guard, GetParam().predictor, GetParam().home);
  Quiescence quiescence;
  auto writer = image::ImageWriter::attach(memory.bytes(), [&] { quiescence.wait(); }).value();
  std::array<Seen, readers> seen;
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back(
        [&, r] { read_until_stopped(writer.view(), plan, quiescence, r, seed + r, seen[r]); });
  std::mt19937_64 random(seed + 9);
  std::vector<image::Delta> batch;
  unsigned in_place = 0, rebuilds = 0;
  for (unsigned n = 0; n < 6000; ++n) {
    const Prefix &p = plan.churned[random() % plan.churned.size()];
    image::Delta d;
    d.op = random() % 2 ? image::DeltaOp::set : image::DeltaOp::unset;
    d.side = static_cast<Side>(random() % 2);
    d.family = p.family();
    d.length = p.length;
    d.list = churned_list;
    d.address = p.address.bytes;
    if (GetParam().batches) {
      batch.push_back(d);
      if (random() % 64 != 0) continue;
      const auto done = writer.apply_batch(batch);
      in_place += static_cast<unsigned>(done.applied) - done.in_overlay;
      rebuilds += done.needs_rebuild ? 1 : 0;
      batch.clear();
    } else {
      const Change change = writer.apply(d);
      in_place += change == Change::in_place ? 1 : 0;
      rebuilds += change == Change::needs_rebuild ? 1 : 0;
    }
    if (random() % 8 == 0) {
      quiescence.wait();
      writer.grace_passed();
    }
  }
  quiescence.wait_for_rounds(50);
  quiescence.stop = true;
  for (std::thread &t : threads) t.join();
  for (const Seen &s : seen) {
    EXPECT_EQ(s.lost, 0u) << "of " << s.lookups;
    EXPECT_EQ(s.invented, 0u) << "of " << s.lookups;
    EXPECT_GT(s.lookups, 1000u);
  }
  EXPECT_GT(in_place, 1000u);
  EXPECT_EQ(rebuilds, 0u);
}

using enum test::AllowFilterKind;
INSTANTIATE_TEST_SUITE_P(Ways, ImageRace,
                         testing::Values(RaceCase{false, false}, RaceCase{true, false}, RaceCase{false, true},
                                         RaceCase{true, true}, RaceCase{false, false, seesaw},
                                         RaceCase{false, true, seesaw}, RaceCase{false, false, cuckoo},
                                         RaceCase{false, true, cuckoo}, RaceCase{false, false, stacked},
                                         RaceCase{false, true, stacked},
                                         RaceCase{false, false, none, build::Predictor::chained},
                                         RaceCase{true, false, none, build::Predictor::chained},
                                         RaceCase{false, true, none, build::Predictor::chained},
                                         RaceCase{.home = build::HostHome::words},
                                         RaceCase{.batches = true, .home = build::HostHome::words}),
                         [](const auto &way) {
                           return std::string(way.param.front           ? "split_block_bloom"
                                              : way.param.guard != none ? test::name_of(way.param.guard)
                                                                        : "no_front") +
                                  (way.param.batches ? "_batches" : "_one_by_one") +
                                  (way.param.predictor == build::Predictor::chained ? "_chained" : "") +
                                  (way.param.home == build::HostHome::words ? "_words" : "");
                         });

} // namespace
} // namespace weir::image_race_test
