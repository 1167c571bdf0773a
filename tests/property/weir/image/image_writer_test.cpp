// Random deltas against an ordered map: after each batch the image says what the map says, asked one
// address at a time and in bursts.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/image_memory.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_stream.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>

namespace weir::image_writer_test {
namespace {

using image::Change;
using test::ImageMemory;

// Effective rules of one side, and the slow obvious longest match.
using Rules = std::map<Prefix, ListId>;

std::uint32_t judge(const Rules &rules, const Address &a) {
  for (int length = static_cast<int>(address_bits(a.family)); length >= 0; --length) {
    const auto l = static_cast<std::uint8_t>(length);
    const auto it = rules.find({masked(a, l), l});
    if (it != rules.end()) return table::value::make(it->second, l);
  }
  return 0;
}

// Addresses crowd into few nets, so that prefixes nest and collide.
class Generator {
public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  Address address() {
    static constexpr std::uint32_t corners[] = {0, 0xFFFFFFFF, 0x0A000000, 0x0A00FFFF};
    if (below(2) == 0) {
      if (below(8) == 0) return Address::from_host(corners[below(4)]);
      if (below(4) == 0) // so wide that some prefixes are alone below their /16
        return Address::from_host(0x0B000000 | static_cast<std::uint32_t>(below(256) << 16 | below(4) << 13));
      return Address::from_host(0x0A000000 |
                                static_cast<std::uint32_t>(below(4) << 16 | below(64) << 8 | below(16)));
    }
    Address a;
    a.family = Family::ipv6;
    if (below(8) == 0) return a; // ::
    a.bytes[0] = 0x20;
    a.bytes[5] = static_cast<std::uint8_t>(below(4));
    a.bytes[15] = static_cast<std::uint8_t>(below(64));
    return a;
  }
  Prefix prefix() {
    const Address a = address();
    const unsigned bits = address_bits(a.family);
    const auto length = static_cast<std::uint8_t>(below(3) == 0 ? bits : below(bits + 1));
    return {masked(a, length), length};
  }

private:
  std::mt19937_64 random_;
};

image::Delta delta(Side side, const Prefix &p, std::optional<ListId> list) {
  image::Delta d;
  d.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
  d.side = side;
  d.family = p.family();
  d.length = p.length;
  d.list = list.value_or(ListId());
  d.address = p.address.bytes;
  return d;
}

struct Inputs {
  std::vector<build::EntryV4> v4;
  std::vector<build::EntryV6> v6;
  explicit Inputs(const Rules &rules) {
    for (const auto &[p, list] : rules) {
      if (p.family() == Family::ipv4)
        v4.push_back({p.address.host(), p.length, 0, list});
      else
        v6.push_back({p.address.bytes, p.length, 0, list});
    }
  }
};

struct Form {
  bool front = false;
  build::Predictor predictor = build::Predictor::inline_bits;
  test::AllowFilterKind guard = test::AllowFilterKind::none;
  HashFamily family = HashFamily::xxh3;
  bool stack = false; // of Bloom layers, in front of the tables
  build::HostHome hosts = build::HostHome::table;
};

struct State {
  Rules rules[2]; // by Side
  std::unique_ptr<lookup::BurstLookup> burst = std::make_unique<lookup::BurstLookup>();
  mutable std::size_t asks = 0;

  ImageMemory build(std::uint64_t seed, const Form &form = {}) const {
    const auto [front, predictor, guard, family, stack, hosts] = form;
    const Inputs deny(rules[0]), allow(rules[1]);
    build::BuildInput in;
    in.lists = {{"a", 0}};
    in.deny = {deny.v4, deny.v6, front, predictor};
    in.deny.hosts_v4 = hosts;
    in.allow = {allow.v4, allow.v6, false, predictor};
    in.seed = seed;
    in.family = family;
    if (guard == test::AllowFilterKind::cuckoo) // small, so that keys have to move
      in.allow_filter.params =
          build::CuckooParams{400, {static_cast<std::uint32_t>(guarded_keys() * 10 / 36 + 6), 11}};
    if (guard == test::AllowFilterKind::seesaw)
      in.allow_filter.params = build::SeesawParams{.planned_keys = 400,
                                                   .cell_words = 128,
                                                   .modulator_words = 64,
                                                   .positive_bits = 7,
                                                   .count_bits = 10};
    if (guard == test::AllowFilterKind::seesaw && family == HashFamily::jhash)
      in.allow_filter.params = test::jhash_seesaw(400, 256, 64);
    std::vector<build::VulnerableKey> known;
    if (guard == test::AllowFilterKind::stacked) { // so many that layer 2 takes most positives
      in.allow_filter.params = build::StackedCountingParams{400, {{64, 5, 3}, {4, 1, 2}, {64, 5, 3}}};
      for (std::uint32_t n = 0; n < 200; ++n) known.push_back({{Address::from_host(0xC6330000 + n), 32}});
      in.allow_filter.guarded = known;
    }
    if (!stack) return ImageMemory::build(in);
    auto plan = test::plan_of({filter::FilterKind::bloom, false, 3, 5}, image::DenyFilterRole::front);
    plan.family = family;
    std::vector<Address> hot; // of which layer 1 takes some
    for (std::uint32_t n = 0; n < 300; ++n) hot.push_back(Address::from_host(0x0A000000 + 17 * n));
    plan.known = hot;
    return test::build_with_stack(in, plan);
  }

  [[nodiscard]] std::uint64_t guarded_keys() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(rules[1], [](const auto &rule) {
      return rule.first.family() == Family::ipv6 || rule.first.length > table::short_length_max;
    }));
  }
  [[nodiscard]] std::uint64_t hosts() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(rules[1], [](const auto &rule) { return rule.first.is_host(); }));
  }
  // No key of the allow side is refused, and the filter counts each exactly once.
  void expect_guarded(const image::ImageWriter &writer) const {
    const image::ImageView &view = writer.view();
    const bool hosts_alone = view.family != HashFamily::jhash; // ranges have the prefixes
    ASSERT_EQ(writer.allow_filter().load()->keys, hosts_alone ? hosts() : guarded_keys());
    for (const auto &[p, list] : rules[1]) {
      if (hosts_alone && !p.is_host()) continue;
      if (p.family() == Family::ipv4 && p.length <= table::short_length_max) continue;
      ASSERT_TRUE(view.allow_filter.contains(view.hash(p))) << to_string(p);
    }
  }

  void ask(const image::ImageView &view, std::span<const Address> asked) const {
    const auto kernels = lookup::available_kernels();
    burst->begin(view, *kernels[asks++ % kernels.size()]); // each set in turn
    for (unsigned i = 0; i < asked.size(); ++i) {
      if (asked[i].family == Family::ipv4)
        burst->ask_v4(i, asked[i].wire());
      else
        burst->ask_v6(i, asked[i].bytes.data());
    }
    burst->send();
    burst->probe_first();
    burst->finish();
  }

  void expect_same(const image::ImageView &view, std::span<const Address> asked) const {
    ask(view, asked);
    for (unsigned i = 0; i < asked.size(); ++i) {
      const std::uint32_t deny = judge(rules[0], asked[i]), allow = judge(rules[1], asked[i]);
      ASSERT_EQ(image::lookup(view, Side::deny, asked[i]), deny) << to_string(asked[i]);
      ASSERT_EQ(image::lookup(view, Side::allow, asked[i]), allow) << to_string(asked[i]);
      ASSERT_EQ(burst->deny(i), deny) << to_string(asked[i]) << " in a burst of " << asked.size();
      ASSERT_EQ(burst->allow(i), allow) << to_string(asked[i]) << " in a burst of " << asked.size();
    }
  }
};

enum class Kind : std::uint8_t {
  plain,
  behind_a_front_filter,
  chained,
  chained_and_given_up,
  guarded,
  guarded_and_chained,
  guarded_by_cuckoo,
  guarded_by_stack,
  jhash,
  jhash_guarded,
  jhash_behind_a_stack,
  few_hosts_in_ranges,
  hosts_in_ranges,
  hosts_as_points,
  hosts_in_words
};

class Deltas : public testing::TestWithParam<Kind> {
public:
  struct Live {
    ImageMemory memory;
    image::ImageWriter writer;
  };
  static test::AllowFilterKind guard() {
    if (GetParam() == Kind::guarded_by_cuckoo) return test::AllowFilterKind::cuckoo;
    if (GetParam() == Kind::guarded_by_stack) return test::AllowFilterKind::stacked;
    const bool seesaw = GetParam() == Kind::guarded || GetParam() == Kind::guarded_and_chained ||
                        GetParam() == Kind::jhash_guarded;
    return seesaw ? test::AllowFilterKind::seesaw : test::AllowFilterKind::none;
  }
  static Live live(const State &state, std::uint64_t seed) {
    const bool jhash = GetParam() >= Kind::jhash && GetParam() < Kind::few_hosts_in_ranges;
    const bool chained = GetParam() == Kind::chained || GetParam() == Kind::chained_and_given_up ||
                         GetParam() == Kind::guarded_and_chained || jhash;
    ImageMemory memory =
        state.build(seed, {.front = GetParam() == Kind::behind_a_front_filter,
                           .predictor = chained ? build::Predictor::chained : build::Predictor::inline_bits,
                           .guard = guard(),
                           .family = jhash ? HashFamily::jhash : HashFamily::xxh3,
                           .stack = GetParam() == Kind::jhash_behind_a_stack,
                           .hosts = GetParam() == Kind::hosts_in_ranges   ? build::HostHome::ranges
                                    : GetParam() == Kind::hosts_as_points ? build::HostHome::points
                                    : GetParam() == Kind::hosts_in_words  ? build::HostHome::words
                                                                          : build::HostHome::table});
    auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
    if (GetParam() == Kind::chained_and_given_up)
      for (const Side side : {Side::deny, Side::allow}) writer.give_up_exactness(side);
    return {std::move(memory), std::move(writer)};
  }
};

TEST_P(Deltas, leave_the_image_saying_what_an_ordered_map_says) {
  const std::uint64_t seed = test::seed_or(2026);
  WEIR_TRACE_SEED(seed);
  Generator g(seed);
  unsigned rebuilds = 0, in_place = 0;
  State state;
  for (int i = 0; i < 100; ++i) state.rules[g.below(2)][g.prefix()] = ListId(g.below(9));
  if (GetParam() == Kind::few_hosts_in_ranges)
    for (int i = 0; i < 6000; ++i)
      if (const Prefix p = g.prefix(); !p.is_host()) state.rules[0][p] = ListId(g.below(9));
  auto [memory, writer] = live(state, seed);
  const image::ImageView &first = writer.view();
  const auto tables_hosts = [](const auto &map) {
    return map.empty() || (map.in_use() & table::range_hosts) != 0;
  };
  const bool words = GetParam() == Kind::hosts_in_words;
  ASSERT_EQ(words, !first.v4[Side::deny].words.empty());
  ASSERT_EQ(words || GetParam() < Kind::few_hosts_in_ranges, tables_hosts(first.ranges_v4[Side::deny]));
  ASSERT_EQ(GetParam() != Kind::few_hosts_in_ranges, tables_hosts(first.ranges_v6[Side::deny]));
  ASSERT_EQ(GetParam() == Kind::hosts_as_points,
            !first.ranges_v4[Side::deny].empty() && first.ranges_v4[Side::deny].has_points());
  for (unsigned round = 0; round < test::rounds(3000); ++round) {
    for (std::uint64_t n = g.below(12); n > 0; --n) {
      const auto side = static_cast<Side>(g.below(2));
      Rules &rules = state.rules[static_cast<unsigned>(side)];
      const Prefix p = g.prefix();
      const std::optional<ListId> list = g.below(5) < 2 ? std::nullopt : std::optional(ListId(g.below(9)));
      const auto before = rules.find(p);
      const bool same = list ? before != rules.end() && before->second == *list : before == rules.end();
      const image::Delta d = delta(side, p, list);
      ASSERT_TRUE(image::check(d).has_value());
      const Change change = writer.apply(d);
      ASSERT_EQ(change == Change::unchanged, same) << to_string(p);
      if (list)
        rules[p] = *list;
      else
        rules.erase(p);
      if (change == Change::in_place) ++in_place;
      if (change == Change::needs_rebuild) {
        ++rebuilds;
        Live next = live(state, seed + rebuilds);
        memory = std::move(next.memory);
        writer = std::move(next.writer);
      }
      ASSERT_EQ(writer.apply(d), Change::unchanged) << "a delta applied twice changes nothing";
    }
    writer.grace_passed();
    if (guard() != test::AllowFilterKind::none) state.expect_guarded(writer);
    std::vector<Address> asked(g.below(lookup::BurstLookup::slots_max + 1));
    for (Address &a : asked) a = g.address();
    state.expect_same(writer.view(), asked);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(in_place, 1000u);
}

std::string kind_name(const testing::TestParamInfo<Kind> &kind) {
  constexpr const char *names[] = {"plain",
                                   "behind_a_front_filter",
                                   "chained",
                                   "chained_and_given_up",
                                   "guarded",
                                   "guarded_and_chained",
                                   "guarded_by_cuckoo",
                                   "guarded_by_stack",
                                   "jhash",
                                   "jhash_guarded",
                                   "jhash_behind_a_stack",
                                   "few_hosts_in_ranges",
                                   "hosts_in_ranges",
                                   "hosts_as_points",
                                   "hosts_in_words"};
  return names[static_cast<unsigned>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(Images, Deltas,
                         testing::Values(Kind::plain, Kind::behind_a_front_filter, Kind::chained,
                                         Kind::chained_and_given_up, Kind::guarded, Kind::guarded_and_chained,
                                         Kind::guarded_by_cuckoo, Kind::guarded_by_stack, Kind::jhash,
                                         Kind::jhash_guarded, Kind::jhash_behind_a_stack,
                                         Kind::few_hosts_in_ranges, Kind::hosts_in_ranges,
                                         Kind::hosts_as_points, Kind::hosts_in_words),
                         kind_name);

// With an adaptive bit, what could not be sealed at once is as soon as the keys there have gone.
TEST(LateNegatives, refuse_an_address_in_the_live_image_once_keys_have_come_and_gone) {
  const std::uint64_t seed = test::seed_or(9);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  State state;
  const auto host = [](std::uint32_t n) { return Prefix{Address::from_host(0x0A000000 + 7 * n), 32}; };
  for (std::uint32_t n = 0; n < 2000; ++n) state.rules[1][host(n)] = 1;
  const Inputs allow(state.rules[1]);
  build::BuildInput in;
  in.lists = {{"a", 1, Side::allow}};
  in.allow = {allow.v4, allow.v6};
  in.allow_filter.params = build::SeesawParams{.planned_keys = 2000,
                                               .cell_words = 500, // four cells a key
                                               .modulator_words = 60,
                                               .hashes = 4,
                                               .positive_bits = 3,
                                               .adaptive = true};
  const ImageMemory memory = ImageMemory::build(in);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  const auto accepts = [&](const Address &a) {
    return view.allow_filter.contains(hash_v4(a.wire(), view.seeds_v4[32]));
  };
  std::vector<Address> hot; // accepted in error
  for (std::uint32_t n = 0; hot.size() < 100; ++n)
    if (const Address a = Address::from_host(0x0A000001 + 7 * n); accepts(a)) hot.push_back(a);
  unsigned waiting = 0;
  for (const Address &a : hot) waiting += writer.learn(a).waiting;
  EXPECT_GT(waiting, 100u) << "their cells are in use";
  EXPECT_EQ(writer.learn(Address::from_host(0x0A000000)).sealed, 0u) << "an allowed address is left out";
  for (unsigned round = 0; round < 40; ++round) { // every key is replaced about twice
    std::vector<Prefix> present;
    for (const auto &[p, list] : state.rules[1]) present.push_back(p);
    for (unsigned i = 0; i < 100; ++i) {
      const Prefix out = present[random() % present.size()];
      (void)writer.apply(delta(Side::allow, out, std::nullopt));
      state.rules[1].erase(out);
    }
    writer.grace_passed();
    while (state.rules[1].size() < 2000) {
      const Prefix p = host(static_cast<std::uint32_t>(2000 + random() % 100'000));
      ASSERT_NE(writer.apply(delta(Side::allow, p, ListId(1))), Change::needs_rebuild);
      state.rules[1][p] = 1;
    }
    state.expect_guarded(writer);
    if (testing::Test::HasFatalFailure()) return;
  }
  unsigned still = 0;
  for (const Address &a : hot) still += accepts(a);
  EXPECT_LT(still, 40u) << "of a hundred";
}

TEST(Growth, goes_in_place_then_to_the_overlay_then_asks_for_a_rebuild_and_loses_nothing) {
  const std::uint64_t seed = test::seed_or(7);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  State state;
  const ImageMemory memory = state.build(seed);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  std::vector<Address> added;
  unsigned seen[4] = {};
  for (Change change = Change::in_place; change != Change::needs_rebuild;) {
    Address a;
    if (random() % 2) {
      a.family = Family::ipv6;
      for (auto &b : a.bytes) b = static_cast<std::uint8_t>(random());
    } else {
      a = Address::from_host(static_cast<std::uint32_t>(random()));
    }
    const Prefix p{a, static_cast<std::uint8_t>(address_bits(a.family))};
    change = writer.apply(delta(Side::deny, p, ListId(4)));
    ++seen[static_cast<unsigned>(change)];
    if (change != Change::needs_rebuild) added.push_back(a);
  }
  EXPECT_GT(seen[static_cast<unsigned>(Change::in_place)], 100u);
  EXPECT_GT(seen[static_cast<unsigned>(Change::overlay)], 10u);
  EXPECT_GT(writer.view().v6[Side::deny].table.stash_keys[0], 0u) << "the stash was never used";
  for (const Address &a : added)
    ASSERT_EQ(image::lookup(writer.view(), Side::deny, a), table::value::make(4, address_bits(a.family)));
  for (const Address &a : added) { // and all of it can be taken back, tombstones included
    const Prefix p{a, static_cast<std::uint8_t>(address_bits(a.family))};
    ASSERT_NE(writer.apply(delta(Side::deny, p, std::nullopt)), Change::needs_rebuild);
    ASSERT_EQ(image::lookup(writer.view(), Side::deny, a), 0u);
  }
}

TEST(Bursts, with_more_probes_than_there_is_room_for_answer_alike) {
  State state;
  const Address base = parse_address("2001:db8::1").value(), base4 = parse_address("10.1.2.3").value();
  for (unsigned l = 0; l <= 128; ++l)
    state.rules[l % 2][{masked(base, l), static_cast<std::uint8_t>(l)}] = ListId(l);
  for (unsigned l = 0; l <= 32; ++l)
    state.rules[l % 2][{masked(base4, l), static_cast<std::uint8_t>(l)}] = ListId(l);
  const ImageMemory memory = state.build(1);
  const image::ImageView view = memory.view();
  std::mt19937_64 random(3);
  std::vector<Address> asked;
  for (unsigned i = 0; i < lookup::BurstLookup::slots_max; ++i) {
    Address a = i % 3 ? base : base4;
    a.bytes[random() % (a.family == Family::ipv4 ? 4 : 16)] ^=
        static_cast<std::uint8_t>(1u << (random() % 8));
    asked.push_back(a);
  }
  state.expect_same(view, asked);
}

// Bursts in flight as a worker keeps them, with every set of kernels, with and without a front filter, over hosts
// alone and over prefixes; now and then a queue runs dry and all of them are finished.
TEST(Bursts, sent_behind_one_another_answer_as_each_would_alone) {
  const std::uint64_t seed = test::seed_or(47);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto v6 = [](std::uint64_t number) {
    Address a = parse_address("2001:db8::").value();
    a.bytes[6] = static_cast<std::uint8_t>(number >> 8);
    a.bytes[15] = static_cast<std::uint8_t>(number);
    return a;
  };
  const auto address = [&](bool four) {
    return four ? Address::from_host(0x0A000000 + static_cast<std::uint32_t>(random() % 9000))
                : v6(random() % 9000);
  };
  struct Sent {
    std::vector<Address> asked;
    bool one_family = false;
    std::array<std::uint32_t, lookup::BurstLookup::slots_max> wires; // until finish()
    std::array<table::KeyV6, lookup::BurstLookup::slots_max> keys;
  };
  constexpr unsigned slots = lookup::BurstLookup::slots_max, most = lookup::BurstLookup::in_flight_max;
  enum class Lists : std::uint8_t { hosts, prefixes, both };
  for (const Lists lists : {Lists::hosts, Lists::prefixes, Lists::both}) {
    State state;
    for (unsigned i = 0; i < 6000; ++i) {
      const Address a = address(i % 2 == 0);
      const unsigned bits = address_bits(a.family);
      const unsigned shorter = lists == Lists::hosts      ? 0
                               : lists == Lists::prefixes ? 1 + static_cast<unsigned>(random() % 12)
                                                          : static_cast<unsigned>(random() % 4);
      const auto l = static_cast<std::uint8_t>(bits - shorter);
      state.rules[0][{masked(a, l), l}] = ListId(random() % 100);
    }
    for (const bool front : {false, true}) {
      const ImageMemory memory = state.build(seed, {.front = front});
      const image::ImageView view = memory.view();
      const unsigned in_flight = lookup::BurstLookup::in_flight(view);
      ASSERT_EQ(in_flight, lists == Lists::prefixes ? most : 3);
      for (const lookup::Kernels *kernels : lookup::available_kernels()) {
        const auto bursts = std::make_unique<lookup::BurstLookup[]>(most);
        std::array<Sent, most> sent;
        unsigned oldest = 0;
        const auto finish_oldest = [&] {
          lookup::BurstLookup &burst = bursts[oldest % in_flight];
          const Sent &of = sent[oldest++ % in_flight];
          burst.finish();
          for (unsigned q = 0; q < of.asked.size(); ++q) {
            const std::uint32_t expected = judge(state.rules[0], of.asked[q]);
            ASSERT_EQ(burst.deny(q), expected) << kernels->name << ", question " << q;
            if (!of.one_family) continue;
            ASSERT_EQ((of.asked[q].family == Family::ipv4 ? burst.deny_v4() : burst.deny_v6())[q], expected);
          }
        };
        for (unsigned n = 0; n < 300; ++n) {
          lookup::BurstLookup &burst = bursts[n % in_flight];
          Sent &now = sent[n % in_flight];
          now.one_family = n % 3 != 0;
          // Whole groups of keys are read where they are, others are copied.
          now.asked.resize(random() % 2 == 0
                               ? 1 + random() % slots
                               : lookup::kernel_lanes * (1 + random() % (slots / lookup::kernel_lanes)));
          for (Address &a : now.asked) a = address(now.one_family ? n % 3 == 1 : random() % 2 == 0);
          burst.begin(view, *kernels);
          for (unsigned q = 0; q < now.asked.size(); ++q) {
            const Address &a = now.asked[q];
            const bool four = a.family == Family::ipv4;
            if (four)
              now.wires[q] = a.wire();
            else
              now.keys[q] = table::KeyV6::load(a.bytes.data());
            if (now.one_family) continue;
            four ? burst.ask_v4(q, a.wire()) : burst.ask_v6(q, a.bytes.data());
          }
          const auto count = static_cast<unsigned>(now.asked.size());
          if (n % 3 == 1) burst.ask_all_v4(now.wires.data(), count);
          if (n % 3 == 2) burst.ask_all_v6(now.keys.data(), count);
          n == oldest ? burst.send() : burst.send_behind(bursts[(n - 1) % in_flight]);
          if (n + 1 - oldest == in_flight) finish_oldest();
          if (random() % 16 == 0) {
            if (oldest <= n) burst.probe_first();
            while (oldest <= n && !testing::Test::HasFatalFailure()) finish_oldest();
          }
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// A deny side of one structure has a way of its own through the stages, and an allow side is asked about those parts of the
// addresses alone where it lists something.
TEST(Bursts, of_images_in_turn_answer_by_their_own_lists) {
  const std::uint64_t seed = test::seed_or(53);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr unsigned parts = 8;
  const auto address = [&](Family family, unsigned part) {
    const auto low = static_cast<std::uint32_t>(random() % 9000);
    if (family == Family::ipv4) return Address::from_host(0x0A000000 + (part << 16) + low);
    Address a{.family = family, .bytes = {0x20, 1}};
    a.bytes[3] = static_cast<std::uint8_t>(part);
    a.bytes[14] = static_cast<std::uint8_t>(low >> 8);
    a.bytes[15] = static_cast<std::uint8_t>(low);
    return a;
  };
  enum What { hosts, prefixes };
  const auto add = [&](State &state, Side side, What what, unsigned in_parts) {
    for (unsigned i = 0; i < 6000; ++i) {
      const Family family = i % 2 == 0 ? Family::ipv4 : Family::ipv6;
      const unsigned length =
          address_bits(family) - (what == hosts ? 0 : 5 + static_cast<unsigned>(random() % 4));
      const auto l = static_cast<std::uint8_t>(length);
      const Address a = address(family, static_cast<unsigned>(random() % in_parts));
      state.rules[static_cast<std::size_t>(side)][{masked(a, l), l}] = ListId(random() % 50);
    }
  };
  std::vector<State> states(16); // states[6] lists nothing
  for (const std::size_t i : {0, 2, 4, 5, 7, 8, 10, 11, 14, 15}) add(states[i], Side::deny, hosts, parts);
  for (const std::size_t i : {1, 3, 5, 7, 8, 9, 12, 13, 15}) add(states[i], Side::deny, prefixes, parts);
  for (const std::size_t i : {3, 14}) add(states[i], Side::allow, hosts, parts);
  for (const std::size_t i : {10, 12, 15}) add(states[i], Side::allow, hosts, 1);
  for (const std::size_t i : {11, 12, 13}) add(states[i], Side::allow, prefixes, 1);
  std::vector<ImageMemory> memories;
  for (std::size_t i = 0; i < states.size(); ++i)
    memories.push_back(states[i].build(seed, {.hosts = i == 7               ? build::HostHome::points
                                                       : i == 8             ? build::HostHome::ranges
                                                       : i == 10 || i == 14 ? build::HostHome::words
                                                                            : build::HostHome::table}));
  // Everything, put in place, is no prefix of a map: it answers where nothing else does.
  const auto put = [&](std::size_t state, Side side, const Prefix &prefix, ListId list) {
    auto writer = image::ImageWriter::attach(memories[state].bytes(), [] {}).value();
    ASSERT_EQ(writer.apply(delta(side, prefix, list)), Change::in_place);
    states[state].rules[static_cast<std::size_t>(side)][prefix] = list;
  };
  for (const char *const everything : {"0.0.0.0/0", "::/0"}) {
    const Prefix all = parse_prefix(everything).value();
    put(2, Side::allow, all, ListId(3));
    put(4, Side::deny, all, ListId(5));
    put(9, Side::deny, all, ListId(6));
    put(13, Side::allow, all, ListId(7));
  }
  // The first of their side that a part has.
  put(0, Side::allow, {address(Family::ipv4, 5), 32}, ListId(8));
  put(1, Side::allow, {address(Family::ipv6, 5), 128}, ListId(9));
  put(10, Side::allow, {address(Family::ipv4, 6), 32}, ListId(8));
  put(11, Side::allow, {masked(address(Family::ipv4, 6), 27), 27}, ListId(9));
  std::vector<image::ImageView> views;
  for (const ImageMemory &memory : memories) // whose checksums are from before the change
    views.push_back(image::attach(memory.bytes(), image::Check::not_the_mutable_checksums).value());
  constexpr unsigned in_flight = lookup::BurstLookup::in_flight_max;
  for (const lookup::Kernels *kernels : lookup::available_kernels()) {
    const auto bursts = std::make_unique<lookup::BurstLookup[]>(in_flight);
    std::array<std::vector<Address>, in_flight> asked;
    std::array<const State *, in_flight> of{};
    for (unsigned n = 0; n < 1200; ++n) {
      const auto at = [&](unsigned behind) { return (n + in_flight - behind) % in_flight; };
      const std::size_t which = random() % states.size();
      const std::uint64_t families = random() % 3,
                          of_parts = random() % 2 == 0 ? parts : 1 + random() % parts;
      of[at(0)] = &states[which];
      asked[at(0)].resize(1 + random() % lookup::BurstLookup::slots_max);
      bursts[at(0)].begin(views[which], *kernels);
      for (unsigned q = 0; q < asked[at(0)].size(); ++q) {
        const bool six = families == 2 ? random() % 2 == 0 : families == 1;
        Address &a = asked[at(0)][q];
        // Not all of them in parts that an allow side lists something in, and bursts that have none there.
        a = address(six ? Family::ipv6 : Family::ipv4,
                    static_cast<unsigned>(parts - 1 - random() % of_parts));
        six ? bursts[at(0)].ask_v6(q, a.bytes.data()) : bursts[at(0)].ask_v4(q, a.wire());
      }
      n == 0 ? bursts[0].send() : bursts[at(0)].send_behind(bursts[at(1)]);
      if (n + 1 < in_flight) continue;
      constexpr unsigned oldest = in_flight - 1;
      lookup::BurstLookup &burst = bursts[at(oldest)];
      burst.finish();
      for (unsigned q = 0; q < asked[at(oldest)].size(); ++q) {
        const Address &a = asked[at(oldest)][q];
        ASSERT_EQ(burst.deny(q), judge(of[at(oldest)]->rules[0], a)) << kernels->name << ", burst " << n;
        ASSERT_EQ(burst.allow(q), judge(of[at(oldest)]->rules[1], a)) << kernels->name << ", burst " << n;
      }
    }
  }
}

TEST(Bursts, of_a_stream_come_back_in_order_whatever_their_number) {
  State state;
  state.rules[0][parse_prefix("10.0.0.0/25").value()] = ListId(4);
  const ImageMemory memory = state.build(1);
  lookup::BurstStream stream;
  for (std::size_t bursts = 0; bursts < 12; ++bursts) {
    std::size_t asked = 0, taken = 0;
    stream.run(
        memory.view(), *lookup::available_kernels().back(), bursts,
        [&](lookup::BurstLookup &burst, std::size_t i) {
          ASSERT_EQ(i, asked++);
          burst.ask_v4(0, Address::from_host(0x0A000000 + static_cast<std::uint32_t>(64 * i)).wire());
        },
        [&](const lookup::BurstLookup &burst, std::size_t i) {
          ASSERT_EQ(i, taken++);
          ASSERT_EQ(burst.deny(0), i < 2 ? table::value::make(ListId(4), 25) : 0);
        });
    ASSERT_EQ(taken, bursts);
  }
}

} // namespace
} // namespace weir::image_writer_test
