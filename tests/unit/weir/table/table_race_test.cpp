// Two readers against one writer that keeps a small table nearly full, so that every addition moves
// keys in both directions and slots are reused at once. Readers work in two passes, like the packet
// pipeline: table 1 for a whole burst, then table 2.
//
// The order of memory operations is proven to matter: with the grace period of a 2 to 1 move left
// out, and with the reader's two loads swapped, the same run must see wrong answers.
#include "tests/support/quiescence.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/table_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace weir::table::table_race_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned readers = 2, burst_keys = 32;
constexpr std::uint64_t image_seed = 99;

using Quiescence = test::Quiescence<readers>;

struct LeavesOutTheGracePeriod {
  static constexpr bool waits_before_clearing_table2 = false;
};
struct ValuesFirstSlowly { // the right order, with time for a writer between the loads
  static constexpr bool values_first = true;
  static void between() noexcept {
    thread_local unsigned n = 0;
    if (++n % 64 == 0) std::this_thread::yield();
  }
};
struct KeysFirst {
  static constexpr bool values_first = false;
  static void between() noexcept { ValuesFirstSlowly::between(); }
};
struct Production {}; // find_in(), vector loads where the build has them

template <class Order, class Line>
std::uint32_t find_line(const Line &line, const typename Line::Key &key, unsigned length) {
  if constexpr (std::is_same_v<Order, Production>)
    return find_in(line, key, length);
  else
    return find_wordwise<Order>(line, key, length);
}

struct Seen {
  std::uint64_t lookups = 0, missing = 0, wrong = 0;
};

template <class Line> struct Entry {
  typename Line::Key key;
  unsigned length;
  std::uint32_t value;
  KeyHash hash;
};

template <class Line> class Arena {
public:
  static constexpr std::uint32_t lines1 = 6, lines2 = 4, stash = 1;
  using Key = typename Line::Key;
  using E = Entry<Line>;

  Arena()
      : header_(std::make_unique<table::TableHeader>()),
        lines_(std::make_unique<Line[]>(lines1 + lines2 + stash)) {
    view_ = {lines_.get(),
             lines_.get() + lines1,
             lines_.get() + lines1 + lines2,
             &header_->stash_keys,
             lines1,
             lines2,
             stash};
  }
  static Key make_key(std::uint32_t n) {
    if constexpr (std::is_same_v<Key, std::uint32_t>)
      return n;
    else
      return {n, n * std::uint64_t{0x100000001}};
  }
  static KeyHash hash(const Key &key, unsigned length) {
    return hash_of(key, length_seed(image_seed, length));
  }

  // Key n: 0 is 0.0.0.0 (or ::), 1 is 255.255.255.255; every third shares its address with another length.
  static E entry(std::uint32_t n) {
    static constexpr unsigned full = address_bits(Line::family);
    const std::uint32_t address = n == 1 ? 0xFFFFFFFF : n / 3 * 3;
    const unsigned length = n == 1 ? full : full - n % 3;
    const Key key = make_key(address);
    return {key, length, table::value::make(ListId(n), length), hash(key, length)};
  }

  const TableView<Line> &view() const { return view_; }
  table::TableHeader &header() { return *header_; }

private:
  std::unique_ptr<table::TableHeader> header_;
  std::unique_ptr<Line[]> lines_;
  TableView<Line> view_;
};

// Keys below `stable` stay for ever and must always be found; keys up to `pool` come and go and may
// be found or not, but never with another key's value.
template <class Line, class Order>
void read_until_stopped(const TableView<Line> &view, Quiescence &quiescence, unsigned self,
                        std::uint32_t stable, std::uint32_t pool, std::uint64_t seed, Seen &seen) {
  std::mt19937_64 random(seed);
  while (!quiescence.stop.load()) {
    Entry<Line> asked[burst_keys];
    std::uint32_t number[burst_keys], found[burst_keys];
    bool second[burst_keys];
    for (unsigned i = 0; i < burst_keys; ++i) {
      number[i] = static_cast<std::uint32_t>(random() % pool);
      asked[i] = Arena<Line>::entry(number[i]);
      found[i] = find_line<Order>(view.line1(asked[i].hash), asked[i].key, asked[i].length);
      compiler_fence();
      second[i] = found[i] == 0 && view.may_be_in2(asked[i].hash);
    }
    if (random() % 8 == 0) std::this_thread::yield(); // other bursts are at work meanwhile
    for (unsigned i = 0; i < burst_keys; ++i) {
      if (!second[i]) continue;
      found[i] = find_line<Order>(view.line2(asked[i].hash), asked[i].key, asked[i].length);
      if (found[i] == 0 && read_acquire(*view.stash_keys) != 0)
        found[i] = find_line<Order>(view.stash[0], asked[i].key, asked[i].length);
    }
    for (unsigned i = 0; i < burst_keys; ++i) {
      if (found[i] == 0)
        seen.missing += number[i] < stable ? 1 : 0;
      else
        seen.wrong += found[i] != asked[i].value ? 1 : 0;
    }
    seen.lookups += burst_keys;
    quiescence.passed[self].fetch_add(1);
  }
}

struct Outcome {
  Seen seen;
  std::uint64_t from1to2 = 0, from2to1 = 0, changes = 0;
};

// Churns for `changes` changes, or - looking for trouble - until some is seen or `limit` has passed.
template <class Line, class Order, class Protocol>
Outcome churn(std::uint64_t seed, std::uint64_t changes, bool until_trouble, std::chrono::seconds limit) {
  Arena<Line> arena;
  Quiescence quiescence;
  TableWriter<Line, Protocol> writer(
      arena.view(), arena.header(),
      [](const auto &key, unsigned length) { return Arena<Line>::hash(key, length); },
      [&] { quiescence.wait(); });
  const std::uint32_t slots = (Arena<Line>::lines1 + Arena<Line>::lines2) * Line::slots;
  const std::uint32_t stable = slots * 6 / 10, room = slots * 92 / 100, pool = slots * 2;
  for (std::uint32_t n = 0; n < stable; ++n) {
    const auto e = Arena<Line>::entry(n);
    quiescence.stop = true; // nobody reads yet
    if (writer.put(e.key, e.value, e.hash) == TableWriter<Line, Protocol>::Put::full) std::abort();
    writer.grace_passed();
  }
  quiescence.stop = false;
  std::array<Seen, readers> seen;
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] {
      read_until_stopped<Line, Order>(arena.view(), quiescence, r, stable, pool, seed + r, seen[r]);
    });
  std::mt19937_64 random(seed + 100);
  std::vector<std::uint32_t> present;
  Outcome out;
  const auto end = Clock::now() + limit;
  const auto trouble = [&] { // racy on purpose: a hint to stop early
    std::uint64_t n = 0;
    for (const Seen &s : seen)
      n += __atomic_load_n(&s.missing, __ATOMIC_RELAXED) + __atomic_load_n(&s.wrong, __ATOMIC_RELAXED);
    return n != 0;
  };
  while (Clock::now() < end && (until_trouble ? !trouble() : out.changes < changes)) {
    ++out.changes;
    if (stable + present.size() < room) {
      const auto n = static_cast<std::uint32_t>(stable + random() % (pool - stable));
      const auto e = Arena<Line>::entry(n);
      if (writer.put(e.key, e.value, e.hash) == TableWriter<Line, Protocol>::Put::added) present.push_back(n);
    } else {
      const std::size_t at = random() % present.size();
      const auto e = Arena<Line>::entry(present[at]);
      if (!writer.erase(e.key, e.length, e.hash)) std::abort();
      present[at] = present.back();
      present.pop_back();
    }
    if (random() % 4 == 0) { // batches share a grace period
      quiescence.wait();
      writer.grace_passed();
    }
  }
  quiescence.stop = true;
  for (std::thread &t : threads) t.join();
  for (const Seen &s : seen) {
    out.seen.lookups += s.lookups;
    out.seen.missing += s.missing;
    out.seen.wrong += s.wrong;
  }
  out.from1to2 = writer.moves().from1to2;
  out.from2to1 = writer.moves().from2to1;
  return out;
}

template <class Line> class TableRace : public testing::Test {};
using Lines = testing::Types<LineV4, LineV6>;
TYPED_TEST_SUITE(TableRace, Lines);

void expect_clean(const Outcome &o) {
  EXPECT_EQ(o.seen.missing, 0u) << "of " << o.seen.lookups << " lookups";
  EXPECT_EQ(o.seen.wrong, 0u) << "of " << o.seen.lookups << " lookups";
  EXPECT_GT(o.seen.lookups, 10'000u);
  EXPECT_GT(o.from1to2, 10u) << "no moves from table 1 to 2 were forced";
  EXPECT_GT(o.from2to1, 10u) << "no moves from table 2 to 1 were forced";
}

TYPED_TEST(TableRace, readers_never_miss_a_key_or_see_anothers_value) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  expect_clean(churn<TypeParam, Production, SafeMoves>(seed, 20'000, false, std::chrono::minutes(5)));
}

TYPED_TEST(TableRace, nor_does_the_portable_reader_with_time_between_its_loads) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  expect_clean(churn<TypeParam, ValuesFirstSlowly, SafeMoves>(seed, 5'000, false, std::chrono::minutes(5)));
}

TYPED_TEST(TableRace, a_move_from_table_2_to_1_without_its_grace_period_is_caught) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  const Outcome o =
      churn<TypeParam, Production, LeavesOutTheGracePeriod>(seed, 0, true, std::chrono::minutes(5));
  EXPECT_GT(o.seen.missing, 0u) << o.seen.lookups << " lookups, " << o.from2to1 << " moves from table 2 to 1";
}

TYPED_TEST(TableRace, a_reader_that_loads_keys_before_values_is_caught) {
  const std::uint64_t seed = test::seed_or(4);
  WEIR_TRACE_SEED(seed);
  const Outcome o = churn<TypeParam, KeysFirst, SafeMoves>(seed, 0, true, std::chrono::minutes(5));
  EXPECT_GT(o.seen.wrong, 0u) << o.seen.lookups << " lookups, " << o.changes << " changes";
}

} // namespace
} // namespace weir::table::table_race_test
