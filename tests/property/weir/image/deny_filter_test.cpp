// Denied hosts behind a stacked filter, and judged by one alone: every kernel, base filter and mix of
// prefixes against a map of the rules, before and after deltas.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace weir::deny_filter_test {
namespace {

using filter::FilterKind;
using image::DenyFilterRole;

struct Case {
  DenyFilterRole role;
  test::StackKind kind;
  bool prefixes = false;
};

// The rules as a map, and what a delta did to hosts that no rule names.
struct Model {
  std::map<Prefix, ListId> rules;
  std::set<Address> relieved;          // removed, and not denied since
  std::set<Address> let_through;       // found to be denied wrongly: until others take their places
  std::set<std::uint32_t> host_blocks; // /16s that have or had an IPv4 host
  bool v6_hosts = false;

  void set(const Prefix &p, ListId list) {
    rules[p] = list;
    if (!p.is_host()) return;
    relieved.erase(p.address);
    let_through.erase(p.address);
    if (p.family() == Family::ipv4)
      host_blocks.insert(p.address.host() >> 16);
    else
      v6_hosts = true;
  }
  // That of the longest prefix up to this length.
  [[nodiscard]] ListId list_of(const Address &a, unsigned longest) const {
    for (unsigned l = longest + 1; l-- > 0;)
      if (const auto found = rules.find({masked(a, l), static_cast<std::uint8_t>(l)}); found != rules.end())
        return found->second;
    return no_list;
  }
  [[nodiscard]] bool hosts_are_asked_for(const Address &a) const {
    return a.family == Family::ipv4 ? host_blocks.contains(a.host() >> 16) : v6_hosts;
  }
};

class DenyFilter : public testing::TestWithParam<Case> {
protected:
  const std::uint64_t seed = test::seed_or(501);
  std::mt19937_64 random{seed};
  Model model;
  std::vector<build::EntryV4> v4, allow4;
  std::vector<build::EntryV6> v6;
  std::vector<Address> known;
  const std::vector<Prefix> spared{parse_prefix("10.0.8.0/26").value(), parse_prefix("10.0.8.0/24").value(),
                                   parse_prefix("2000::300/120").value()};

  [[nodiscard]] bool is_spared(const Address &a) const {
    return std::ranges::any_of(spared, [&](const Prefix &p) { return p.covers(a); });
  }
  // Few, so that many are denied.
  Address some_address() {
    if (random() % 4 != 0) {
      const std::uint32_t block = random() % 8 == 0 ? 0x0B010000 + (random() % 4) * 0x10000 : 0x0A000000;
      return Address::from_host(static_cast<std::uint32_t>(block + random() % 4096));
    }
    Address a;
    a.family = Family::ipv6;
    a.bytes[0] = 0x20;
    a.bytes[14] = static_cast<std::uint8_t>(random() % 4);
    a.bytes[15] = static_cast<std::uint8_t>(random());
    return a;
  }
  Prefix some_prefix() {
    const Address a = some_address();
    const unsigned bits = address_bits(a.family);
    const bool shorter = GetParam().prefixes && random() % 16 == 0;
    const unsigned length = !shorter ? bits : bits - 1 - static_cast<unsigned>(random() % 20);
    return {masked(a, length), static_cast<std::uint8_t>(length)};
  }

  test::ImageMemory build() {
    for (unsigned n = 0; n < 900; ++n)
      if (const Prefix p = some_prefix(); !is_spared(p.address)) model.set(p, ListId(random() % 9));
    for (const auto &[p, list] : model.rules)
      if (p.family() == Family::ipv4)
        v4.push_back({p.address.host(), p.length, 0, list});
      else
        v6.push_back({p.address.bytes, p.length, 0, list});
    for (unsigned n = 0; n < 300; ++n)
      if (const Address a = some_address(); model.list_of(a, address_bits(a.family)) == no_list)
        known.push_back(a);
    for (std::uint32_t h = 0; h < 64; ++h) allow4.push_back({0x0A000000 + h * 64, 32, 0, 9});
    build::BuildInput in;
    for (ListId n = 0; n < 10; ++n)
      in.lists.push_back({"l" + std::to_string(n.value()), n, n == 9 ? Side::allow : Side::deny});
    in.deny = {v4, v6};
    in.deny.predictor = random() % 2 == 0 ? build::Predictor::chained : build::Predictor::inline_bits;
    in.allow = {allow4, {}};
    in.seed = random();
    build::DenyFilterSizes plan = test::plan_of(GetParam().kind, GetParam().role);
    plan.known = known;
    plan.spared = spared;
    return test::build_with_stack(in, plan);
  }

  // A burst's answers are what map and filter say; returns how many were denied without a rule.
  unsigned ask(const image::ImageView &view, unsigned bursts, bool changed) {
    const auto burst = std::make_unique<lookup::BurstLookup>();
    unsigned wrongly = 0;
    for (unsigned n = 0; n < bursts; ++n) {
      const auto kernels = lookup::available_kernels();
      std::vector<Address> asked(random() % (lookup::BurstLookup::slots_max + 1));
      burst->begin(view, *kernels[random() % kernels.size()]);
      for (unsigned i = 0; i < asked.size(); ++i) {
        asked[i] = some_address();
        if (asked[i].family == Family::ipv4)
          burst->ask_v4(i, asked[i].wire());
        else
          burst->ask_v6(i, asked[i].bytes.data());
      }
      burst->send();
      burst->probe_first();
      if (random() % 2) burst->settle();
      burst->finish();
      for (unsigned i = 0; i < asked.size(); ++i) {
        const Address &a = asked[i];
        const std::uint32_t deny = burst->deny(i);
        EXPECT_EQ(deny, image::lookup(view, Side::deny, a)) << to_string(a);
        EXPECT_EQ(burst->allow(i), image::lookup(view, Side::allow, a)) << to_string(a);
        wrongly += expect_denied(view, a, deny, changed);
      }
      const auto &tally = burst->cost().deny_filter;
      EXPECT_LE(tally.refuted, tally.accepted);
      EXPECT_LE(tally.accepted, tally.asked);
      if (testing::Test::HasFailure()) break;
    }
    return wrongly;
  }

  bool expect_denied(const image::ImageView &view, const Address &a, std::uint32_t deny, bool changed) {
    const unsigned bits = address_bits(a.family);
    const bool judges = GetParam().role == DenyFilterRole::judge;
    const ListId rule = model.list_of(a, bits), prefix = model.list_of(a, bits - 1);
    const bool host = model.rules.contains({a, static_cast<std::uint8_t>(bits)});
    if (host) {
      EXPECT_TRUE(table::value::is_set(deny)) << to_string(a) << " passes";
      EXPECT_EQ(table::value::length_of(deny), bits);
      const ListId list = table::value::list_of(deny);
      if (!judges)
        EXPECT_EQ(list, rule);
      else
        EXPECT_TRUE(list == compact_list || (changed && list == rule)) << list << " not " << rule;
      return false;
    }
    const ListId list = table::value::list_of(deny);
    const bool wrongly = judges && model.hosts_are_asked_for(a) && !is_spared(a) &&
                         !model.relieved.contains(a) && view.deny_filter.contains(test::host_hash(view, a)) &&
                         !(model.let_through.contains(a) && list == prefix);
    EXPECT_EQ(list, wrongly ? compact_list : prefix) << to_string(a);
    return wrongly;
  }

  // False: the image has no room for more.
  bool change(image::ImageWriter &writer) {
    const Prefix p = some_prefix();
    if (is_spared(p.address)) return true;
    if (random() % 8 == 0 && !model.rules.contains({p.address, p.length}) && p.is_host()) {
      const image::Change done = writer.relieve(p.address);
      if (done == image::Change::overlay) model.let_through.insert(p.address);
      return done != image::Change::needs_rebuild;
    }
    image::Delta d{.op = random() % 2 == 0 ? image::DeltaOp::set : image::DeltaOp::unset,
                   .family = p.family(),
                   .length = p.length,
                   .list = ListId(random() % 9),
                   .address = p.address.bytes};
    const image::Change done = writer.apply(d);
    if (done == image::Change::needs_rebuild) return false;
    writer.grace_passed();
    if (d.op == image::DeltaOp::set) {
      model.set(p, d.list);
    } else {
      model.rules.erase(p);
      if (p.is_host() && done == image::Change::overlay) model.relieved.insert(p.address);
    }
    return true;
  }
};

TEST_P(DenyFilter, bursts_say_what_rules_and_filter_say_before_and_after_deltas) {
  WEIR_TRACE_SEED(seed);
  const test::ImageMemory memory = build();
  const image::ImageView view = memory.view();
  EXPECT_EQ(view.deny_filter.judges(), GetParam().role == DenyFilterRole::judge);
  const unsigned wrongly = ask(view, 300, false);
  if (view.deny_filter.judges()) {
    EXPECT_GT(wrongly, 0u) << "the filter was never wrong: nothing was shown";
  } else {
    EXPECT_EQ(wrongly, 0u);
  }
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  unsigned changes = 0;
  for (; changes < 400 && change(writer); ++changes)
    if (changes % 20 == 0) (void)ask(view, 10, true);
  EXPECT_GT(changes, 100u);
  (void)ask(view, 200, true);
}

// Hosts whose answers are known: bursts of many hits and of few take different ways.
TEST(DenyFilterTally, counts_what_was_asked_accepted_and_refuted) {
  std::vector<build::EntryV4> hosts;
  for (std::uint32_t h = 0; h < 400; ++h) hosts.push_back({0x0A000000 + h, 32, 0, 0});
  build::BuildInput in;
  in.lists = {{"bad", 0}};
  in.deny.v4 = hosts;
  const auto burst = std::make_unique<lookup::BurstLookup>();
  for (const DenyFilterRole role : {DenyFilterRole::front, DenyFilterRole::judge})
    for (const FilterKind base :
         {FilterKind::split_block_bloom, FilterKind::bloom, FilterKind::binary_fuse}) {
      const test::ImageMemory memory =
          test::build_with_stack(in, test::plan_of({.base = base, .bits = 5}, role));
      const image::ImageView view = memory.view();
      unsigned wrong_all = 0;
      for (std::uint32_t from = 340; from < 2000; from += 30) {
        unsigned accepted = 0, wrong = 0;
        burst->begin(view, lookup::best_kernels());
        for (std::uint32_t i = 0; i < 60; ++i) {
          const Address a = Address::from_host(0x0A000000 + from + i);
          burst->ask_v4(i, a.wire());
          const bool yes = view.deny_filter.contains(test::host_hash(view, a));
          accepted += yes;
          wrong += yes && from + i >= hosts.size();
        }
        burst->send();
        burst->probe_first();
        burst->finish();
        EXPECT_EQ(burst->cost().deny_filter.asked, 60u);
        EXPECT_EQ(burst->cost().deny_filter.accepted, accepted);
        EXPECT_EQ(burst->cost().deny_filter.refuted, role == DenyFilterRole::front ? wrong : 0);
        wrong_all += wrong;
      }
      EXPECT_GT(wrong_all, 0u) << "the filter was never wrong: nothing was shown";
    }
}

constexpr test::StackKind split3{}, split1{.depth = 1}, split5{.depth = 5}, split_fuse{.fuse_below = true},
    bloom3{.base = FilterKind::bloom, .bits = 5},
    bloom_fuse{.base = FilterKind::bloom, .fuse_below = true, .depth = 5, .bits = 6},
    fuse3{.base = FilterKind::binary_fuse, .bits = 8}, chained{.base = FilterKind::chained_and, .bits = 3},
    chained_shared{.base = FilterKind::chained_and_shared, .bits = 3};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DenyFilterRole role : {DenyFilterRole::front, DenyFilterRole::judge})
    for (const bool prefixes : {false, true})
      for (const test::StackKind &kind :
           {split1, split3, split5, split_fuse, bloom3, bloom_fuse, fuse3, chained, chained_shared})
        cases.push_back({role, kind, prefixes});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Ways, DenyFilter, testing::ValuesIn(all_cases()), [](const auto &way) {
  return std::string(image::name_of(way.param.role)) + "_" + test::name_of(way.param.kind) +
         (way.param.prefixes ? "_prefixes" : "_hosts");
});

} // namespace
} // namespace weir::deny_filter_test
