// Hosts in words under change: readers ask in bursts, like workers, while one writer lets hosts come to lines that are full, get
// lists that no word can name, and go.
#include "tests/support/image_memory.hpp"
#include "tests/support/quiescence.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

namespace weir::words_race_test {
namespace {

using image::Change;

constexpr unsigned readers = 2, burst_keys = 32;
constexpr std::uint32_t hosts = 400; // of sixteen lines
constexpr ListId low = 1, high = 40; // which no word of so few lines can name

using Quiescence = test::Quiescence<readers>;
// How often each host has come and gone: odd while it is on a list.
using Versions = std::array<std::atomic<std::uint64_t>, hosts>;

Address host_at(std::uint32_t n) { return Address::from_host(0x0A000000 + 131 * n); }

struct Seen {
  std::uint64_t lookups = 0, lost = 0, invented = 0;
};

void read_until_stopped(const image::ImageView &view, const Versions &versions, Quiescence &quiescence,
                        unsigned self, std::uint64_t seed, Seen &seen) {
  const auto burst = std::make_unique<lookup::BurstLookup>();
  const auto kernels = lookup::available_kernels();
  std::mt19937_64 random(seed);
  std::array<std::uint32_t, burst_keys> number;
  std::array<std::uint64_t, burst_keys> version;
  alignas(64) std::array<std::uint32_t, burst_keys> wires;
  while (!quiescence.stop.load()) {
    for (unsigned i = 0; i < burst_keys; ++i) {
      number[i] = static_cast<std::uint32_t>(random() % hosts);
      version[i] = versions[number[i]].load();
      wires[i] = host_at(number[i]).wire();
    }
    burst->begin(view, *kernels[random() % kernels.size()]);
    if (random() % 2 == 0)
      burst->ask_all_v4(wires.data(), burst_keys);
    else
      for (unsigned i = 0; i < burst_keys; ++i) burst->ask_v4(i, wires[i]);
    burst->send();
    if (random() % 8 == 0) std::this_thread::yield();
    burst->probe_first();
    if (random() % 8 == 0) std::this_thread::yield();
    if (random() % 2 == 0) burst->settle();
    if (random() % 8 == 0) std::this_thread::yield();
    burst->finish();
    for (unsigned i = 0; i < burst_keys; ++i) {
      const std::uint32_t v = burst->deny(i);
      const bool stayed = version[i] % 2 != 0 && versions[number[i]].load() == version[i];
      seen.lost += v == 0 && stayed ? 1 : 0;
      seen.invented +=
          v != 0 && v != table::value::make(low, 32) && v != table::value::make(high, 32) ? 1 : 0;
    }
    seen.lookups += burst_keys;
    quiescence.passed[self].fetch_add(1);
  }
}

class WordsRace : public testing::TestWithParam<bool> {
protected:
  static test::ImageMemory build(std::uint64_t seed) {
    const std::vector<build::EntryV4> entries{{0xDFFFFFFF, 32, 0, low}};
    build::BuildInput in;
    in.lists = {{"low", low}, {"high", high}};
    in.deny.v4 = entries;
    in.deny.hosts_v4 = build::HostHome::words;
    in.seed = seed;
    return test::ImageMemory::build(in);
  }
  static image::Delta delta(std::uint32_t n, std::optional<ListId> list) {
    image::Delta d;
    d.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
    d.length = 32;
    d.list = list.value_or(ListId());
    d.address = host_at(n).bytes;
    return d;
  }
};

// One by one and in batches. A group bit is set once, so that images that are new again and again show more.
TEST_P(WordsRace, no_host_is_lost_while_others_come_leave_their_lines_and_go) {
  const std::uint64_t seed = test::seed_or(53);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  Seen all;
  std::uint64_t in_place = 0, rebuilds = 0, behind = 0;
  for (unsigned round = 0; round < 20; ++round) {
    const test::ImageMemory memory = build(seed + round);
    Quiescence quiescence;
    Versions versions{};
    auto writer = image::ImageWriter::attach(memory.bytes(), [&] { quiescence.wait(); }).value();
    std::array<Seen, readers> seen;
    std::vector<std::thread> threads;
    for (unsigned r = 0; r < readers; ++r)
      threads.emplace_back(
          [&, r] { read_until_stopped(writer.view(), versions, quiescence, r, seed + r, seen[r]); });
    const auto apply = [&](const image::Delta &d) {
      Change change = Change::in_place;
      if (GetParam())
        change = writer.apply_batch({&d, 1}).needs_rebuild ? Change::needs_rebuild : Change::in_place;
      else
        change = writer.apply(d);
      in_place += change == Change::in_place ? 1 : 0;
      rebuilds += change == Change::needs_rebuild ? 1 : 0;
    };
    for (unsigned n = 0; n < 1500; ++n) {
      const auto host = static_cast<std::uint32_t>(random() % hosts);
      const bool there = versions[host].load() % 2 != 0, goes = there && random() % 2 == 0;
      if (goes) ++versions[host];
      apply(delta(host, goes ? std::nullopt : random() % 4 == 0 ? std::optional(high) : std::optional(low)));
      if (!there) ++versions[host];
      if (random() % 64 != 0) continue;
      quiescence.wait();
      writer.grace_passed();
    }
    quiescence.wait_for_rounds(20);
    quiescence.stop = true;
    for (std::thread &t : threads) t.join();
    for (const Seen &s : seen) {
      all.lookups += s.lookups;
      all.lost += s.lost;
      all.invented += s.invented;
    }
    const table::WordTableView &words = writer.view().v4[Side::deny].words;
    for (std::uint32_t host = 0; host < hosts; ++host)
      behind += words.find(host_at(host).wire()).behind && versions[host].load() % 2 != 0 ? 1 : 0;
  }
  EXPECT_EQ(all.lost, 0u) << "of " << all.lookups;
  EXPECT_EQ(all.invented, 0u) << "of " << all.lookups;
  EXPECT_GT(all.lookups, 1000u);
  EXPECT_GT(in_place, 10'000u);
  EXPECT_EQ(rebuilds, 0u);
  EXPECT_GT(behind, 500u);
}

INSTANTIATE_TEST_SUITE_P(Ways, WordsRace, testing::Bool(),
                         [](const auto &way) { return way.param ? "batches" : "one_by_one"; });

} // namespace
} // namespace weir::words_race_test
