// Registers against images: whatever rules, filters and deltas an image holds, the model that sees nothing
// but the exported registers answers as the image does, an export writes what differs and nothing else, and
// one that fails leaves the bank in use as it was.
#include "p4/export/exporter.hpp"
#include "tests/p4/model.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir::registers_test {
namespace {

using test::Random;

// Fails at the call of write() that it is told to, and then until it is told otherwise.
class Sink final : public p4::RegisterSink {
public:
  explicit Sink(const p4::Capacities &capacities) : memory_(capacities) {}

  [[nodiscard]] Result<std::uint64_t> capacity(std::string_view array) override {
    return memory_.capacity(array);
  }
  [[nodiscard]] Status write(std::string_view array, std::uint64_t first,
                             std::span<const std::uint64_t> values) override {
    if (good_writes && (*good_writes)-- == 0) {
      good_writes = 0;
      return fail(Errc::io, "the target is gone");
    }
    return memory_.write(array, first, values);
  }
  [[nodiscard]] Status flip(unsigned bank) override { return memory_.flip(bank); }
  [[nodiscard]] const p4::Registers &registers() const noexcept { return memory_.registers(); }

  std::optional<std::uint64_t> good_writes; // before one fails; none: all are good

private:
  p4::TextSink memory_;
};

// The program has room for few IPv6 lengths: each becomes the next longer of these.
constexpr std::array<std::uint8_t, 8> lengths_v6{0, 3, 20, 32, 48, 64, 100, 128};
Prefix allowed(Prefix p) {
  if (p.family() == Family::ipv6) p.length = *std::ranges::lower_bound(lengths_v6, p.length);
  return p;
}

test::RuleSet some_rules(Random &random) {
  test::RuleSet rules = test::random_rules(random, {.lists = 4, .prefixes_per_list = 1u << random.below(11)});
  while (rules.policy.match == Match::either) rules.policy = test::random_policy(random);
  for (test::TestList &list : rules.lists)
    for (Prefix &p : list.prefixes) p = allowed(p);
  return rules;
}

struct Filters {
  bool guard = false, late = false, stack = false;
};

class Case {
public:
  Case(Random &random, Filters filters)
      : random_(random), rules_(with_policy(some_rules(random), filters)), image_(rules_, options(filters)),
        writer_(image::ImageWriter::attach(image_.bytes(), [] {}).value()) {}

  [[nodiscard]] const image::ImageView &view() const noexcept { return writer_.view(); }
  [[nodiscard]] const test::RuleSet &rules() const noexcept { return rules_; }
  [[nodiscard]] Address address() {
    return test::interesting_address(random_, rules_, random_.one_in(2) ? Family::ipv4 : Family::ipv6);
  }
  [[nodiscard]] std::vector<Address> addresses(unsigned count) {
    std::vector<Address> all(count);
    for (Address &a : all) a = address();
    return all;
  }

  // A few entries come and go. What the image cannot take it leaves as it is.
  void change(unsigned count) {
    for (unsigned n = 0; n < count; ++n) {
      const test::TestList &list =
          rules_.lists[random_.below(static_cast<std::uint32_t>(rules_.lists.size()))];
      Prefix p{address(), 0};
      p.length = static_cast<std::uint8_t>(random_.one_in(2) ? address_bits(p.family())
                                                             : random_.below(address_bits(p.family()) + 1));
      p = allowed(p);
      p.address = masked(p.address, p.length);
      if (!list.prefixes.empty() && random_.one_in(2))
        p = list.prefixes[random_.below(static_cast<std::uint32_t>(list.prefixes.size()))];
      image::Delta d{.op = random_.one_in(3) ? image::DeltaOp::unset : image::DeltaOp::set,
                     .side = list.side,
                     .family = p.family(),
                     .length = p.length,
                     .list = ListId(random_.below(4)),
                     .address = p.address.bytes};
      ASSERT_TRUE(image::check(d));
      if (writer_.apply(d) == image::Change::overlay) ++in_overlay;
      writer_.grace_passed();
    }
  }
  unsigned in_overlay = 0;

private:
  static test::RuleSet with_policy(test::RuleSet rules, Filters filters) {
    if (filters.late) rules.policy.fallthrough = Verdict::pass;
    rules.policy.confirm = filters.late ? Confirm::on_conflict : Confirm::exact;
    return rules;
  }
  test::ImageOptions options(Filters filters) {
    test::ImageOptions options{.seed = random_.bits(), .family = HashFamily::jhash};
    if (filters.guard) {
      options.guard =
          test::jhash_seesaw(1000, 8u << random_.below(8), 1u << random_.below(6), 2 + random_.below(5));
      for (unsigned n = 0; n < 200; ++n) {
        const Address a = test::random_address(random_, Family::ipv4);
        options.guarded.push_back({{a, 32}, 1});
      }
    }
    if (filters.stack) {
      for (unsigned n = 0; n < 300; ++n) known_.push_back(test::random_address(random_, Family::ipv4));
      options.stack = test::plan_of({filter::FilterKind::bloom, false, 1 + 2 * random_.below(2), 5},
                                    image::DenyFilterRole::front);
      options.stack->known = known_;
    }
    return options;
  }

  Random &random_;
  std::vector<Address> known_;
  test::RuleSet rules_;
  test::TestImage image_;
  image::ImageWriter writer_;
};

void expect_answers_of(const image::ImageView &view, const test::P4Model &model,
                       const std::vector<Address> &addresses) {
  for (const Address &a : addresses) {
    ASSERT_EQ(model.lookup(Side::deny, a), image::lookup(view, Side::deny, a)) << to_string(a);
    ASSERT_EQ(model.lookup(Side::allow, a), image::lookup(view, Side::allow, a)) << to_string(a);
  }
}

// The filters say the same of any host, also where a table would have set it right.
unsigned expect_filters_of(const image::ImageView &view, const test::P4Model &model,
                           const std::vector<Address> &addresses) {
  unsigned accepted = 0;
  EXPECT_EQ(model.has_allow_filter(), !view.allow_filter.empty());
  EXPECT_EQ(model.has_stack(), !view.deny_filter.empty());
  for (const Address &a : addresses) {
    const KeyHash h = view.hash(Prefix{a, static_cast<std::uint8_t>(address_bits(a.family))});
    const test::P4Model::Hash halves = a.family == Family::ipv4
                                           ? test::P4Model::hash_v4(a.host(), view.seeds_v4[32])
                                           : test::P4Model::hash_v6(a, view.seeds_v6[128]);
    EXPECT_EQ(halves.h0, table::half1(h)) << to_string(a);
    EXPECT_EQ(halves.h1, table::half2(h)) << to_string(a);
    if (model.has_allow_filter()) {
      EXPECT_EQ(model.guard_accepts(halves), view.allow_filter.contains(h)) << to_string(a);
      accepted += view.allow_filter.contains(h) ? 1 : 0;
    }
    if (model.has_stack()) {
      EXPECT_EQ(model.stack_accepts(halves), view.deny_filter.contains(h)) << to_string(a);
      accepted += view.deny_filter.contains(h) ? 1 : 0;
    }
  }
  return accepted;
}

p4::Capacities capacities_of(const image::ImageView &view) {
  const auto capacities = p4::capacities_for(view);
  if (!capacities) throw std::runtime_error(capacities.error().message);
  return *capacities;
}

std::uint64_t differences(const p4::Registers &a, const p4::Registers &b) {
  std::uint64_t count = 0;
  for (const p4::ArrayInfo &info : p4::arrays) {
    if (info.array == p4::Array::bank) continue;
    for (std::size_t i = 0; i < a.of(info.array).size(); ++i)
      count += a.of(info.array)[i] != b.of(info.array)[i];
  }
  return count;
}

constexpr std::array<Filters, 6> all_filters{{{},
                                              {.guard = true},
                                              {.guard = true, .late = true},
                                              {.stack = true},
                                              {.guard = true, .stack = true},
                                              {}}};

TEST(P4Registers, answer_as_the_image_does_before_and_after_deltas) {
  const std::uint64_t seed = test::seed_or(901);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  unsigned in_overlay = 0, accepted = 0;
  for (unsigned round = 0; round < 48; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case c(random, all_filters[round % all_filters.size()]);
    Sink sink(capacities_of(c.view()));
    p4::Exporter exporter(sink);
    const test::P4Model model(sink.registers());
    for (unsigned step = 0; step < 4; ++step) {
      const auto done = exporter.write(c.view());
      ASSERT_TRUE(done) << done.error().message;
      expect_answers_of(c.view(), model, c.addresses(300));
      accepted += expect_filters_of(c.view(), model, c.addresses(100));
      if (HasFailure()) return;
      c.change(30);
    }
    in_overlay += c.in_overlay;
  }
  EXPECT_GT(in_overlay, 100u) << "overlays have to be in it";
  EXPECT_GT(accepted, 100u) << "filters have to accept something";
}

// Builders hardly ever need deeper layers. Here the first one says yes to everything, so that they settle
// every key: layers 0, 2, ... hold keys of table 1, the others those of table 2, each what the one before
// accepts.
template <class LineType> class DeepChain {
public:
  using Line = LineType;

  DeepChain(const image::ImageView &view, const image::SideView<Line> &side)
      : first_(side.chain.first()), ones_(first_.lines, ~std::uint32_t{0}) {
    first_.words = ones_.data();
    const table::TableView<Line> &t = side.table;
    std::vector<KeyHash> here = keys_of(view, t.lines1, t.count1), there = keys_of(view, t.lines2, t.count2);
    for (unsigned n = 0; n < words_.size() && !here.empty(); ++n) {
      words_[n].resize(std::bit_ceil(here.size() / 16 + 1)); // so small that much is accepted wrongly
      const auto words = static_cast<std::uint32_t>(words_[n].size());
      const auto mark = [&](KeyHash h) { return Chain::mark(n, words, h, HashFamily::jhash); };
      for (const KeyHash h : here) words_[n][mark(h).word] |= mark(h).bits;
      std::erase_if(there,
                    [&](KeyHash h) { return (words_[n][mark(h).word] & mark(h).bits) != mark(h).bits; });
      std::swap(here, there);
      deep_.push_back({words_[n].data(), words});
    }
    exact_ = here.empty() ? 1 : 0;
  }
  [[nodiscard]] bool exact() const noexcept { return exact_ == 1; }
  [[nodiscard]] table::ChainedPredictor view() const { return {first_, deep_, &exact_, HashFamily::jhash}; }

private:
  using Chain = table::ChainedPredictor;
  static std::vector<KeyHash> keys_of(const image::ImageView &view, const Line *lines, std::uint32_t count) {
    std::vector<KeyHash> keys;
    for (std::uint32_t n = 0; n < count; ++n)
      for (unsigned slot = 0; slot < Line::slots; ++slot)
        if (const std::uint32_t v = lines[n].value[slot]; table::value::is_set(v))
          keys.push_back(view.hash(lines[n].key[slot], table::value::length_of(v)));
    return keys;
  }

  Chain::FirstLayer first_;
  std::vector<std::uint32_t> ones_; // a word a line is more than enough
  std::array<std::vector<std::uint64_t>, Chain::deep_layers_max> words_;
  std::vector<Chain::DeepLayer> deep_;
  std::uint32_t exact_ = 0;
};

TEST(P4Registers, answer_through_the_deeper_layers_of_a_predictor) {
  const std::uint64_t seed = test::seed_or(905);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  unsigned layers = 0;
  for (unsigned round = 0; round < 24; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case c(random, {});
    image::ImageView view = c.view();
    const DeepChain deny4(view, view.v4[Side::deny]), allow4(view, view.v4[Side::allow]);
    const DeepChain deny6(view, view.v6[Side::deny]), allow6(view, view.v6[Side::allow]);
    if (!deny4.exact() || !allow4.exact() || !deny6.exact() || !allow6.exact()) continue;
    view.v4[Side::deny].chain = deny4.view(), view.v4[Side::allow].chain = allow4.view();
    view.v6[Side::deny].chain = deny6.view(), view.v6[Side::allow].chain = allow6.view();
    Sink sink(capacities_of(view));
    p4::Exporter exporter(sink);
    ASSERT_TRUE(exporter.write(view));
    expect_answers_of(view, test::P4Model(sink.registers()), c.addresses(400));
    if (HasFailure()) return;
    layers = std::max({layers, deny4.view().deep_layers(), deny6.view().deep_layers()});
  }
  EXPECT_GE(layers, 3u);
}

TEST(P4Registers, judge_frames_as_the_rules_do) {
  const std::uint64_t seed = test::seed_or(902);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  constexpr std::array sides{PortSide::none, PortSide::outside, PortSide::inside};
  std::array<unsigned, reason_count> seen{};
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case c(random, all_filters[round % all_filters.size()]);
    Sink sink(capacities_of(c.view()));
    p4::Exporter exporter(sink);
    const auto done = exporter.write(c.view(), {.ports = sides});
    ASSERT_TRUE(done) << done.error().message;
    const test::P4Model model(sink.registers());
    const test::Oracle oracle = c.rules().oracle();
    const bool late = c.view().policy.confirm == Confirm::on_conflict;
    for (unsigned n = 0; n < 400; ++n) {
      const test::Frame frame = test::random_frame(random, c.rules());
      const unsigned port = random.below(static_cast<std::uint32_t>(sides.size()));
      const test::P4Model::Answer is = model.judge(frame.bytes, port);
      const test::Judgement wanted = oracle.judge(frame.bytes, sides[port]);
      ++seen[static_cast<std::size_t>(is.reason)];
      ASSERT_EQ(is.verdict, wanted.verdict) << test::to_string(wanted);
      if (late && is.reason == Reason::fallthrough && wanted.reason == Reason::allow)
        continue; // nothing denied it
      ASSERT_EQ(is.reason, wanted.reason) << test::to_string(wanted);
      ASSERT_EQ(is.list_hit != 0, !wanted.list.empty());
      if (is.list_hit == 0) continue;
      ASSERT_EQ(image::list_name(c.view(), ListId(is.list_hit - 1)), wanted.list);
    }
  }
  for (const Reason reason : {Reason::malformed, Reason::non_ip, Reason::too_many_tags, Reason::link_local,
                              Reason::allow, Reason::deny, Reason::fallthrough})
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 0u) << name_of(reason);
}

TEST(P4Registers, take_the_elements_that_differ_and_no_other) {
  const std::uint64_t seed = test::seed_or(903);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  for (unsigned round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case c(random, all_filters[round]);
    Sink sink(capacities_of(c.view()));
    p4::Exporter exporter(sink);
    std::array<std::uint64_t, p4::banks> held{};
    for (unsigned step = 0; step < 6; ++step) {
      const p4::Registers before = sink.registers();
      const auto done = exporter.write(c.view());
      ASSERT_TRUE(done) << done.error().message;
      const bool known = step >= p4::banks; // what both banks hold
      if (!known) {
        ASSERT_EQ(done->written, done->elements);
      } else if (done->elements == held[done->bank]) {
        ASSERT_EQ(done->written, differences(before, sink.registers()));
      } // else tables came into use, and what was never written is unknown even where it is right by chance
      held[done->bank] = done->elements;
      if (step % 2 == 1) c.change(10);
    }
  }
}

TEST(P4Registers, of_the_bank_in_use_survive_an_export_that_fails) {
  const std::uint64_t seed = test::seed_or(904);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  unsigned failed = 0;
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case c(random, all_filters[round % all_filters.size()]);
    Sink sink(capacities_of(c.view()));
    p4::Exporter exporter(sink);
    const test::P4Model model(sink.registers());
    ASSERT_TRUE(exporter.write(c.view()));
    if (random.one_in(2)) {
      ASSERT_TRUE(exporter.write(c.view())); // both banks are known
    }
    const std::vector<Address> asked = c.addresses(100);
    std::vector<std::uint32_t> before;
    for (const Address &a : asked) before.push_back(model.lookup(Side::deny, a));

    c.change(30);
    sink.good_writes = random.below(6);
    const unsigned bank = exporter.bank();
    failed += exporter.write(c.view()) ? 0 : 1;
    if (exporter.bank() == bank) {
      for (std::size_t i = 0; i < asked.size(); ++i) ASSERT_EQ(model.lookup(Side::deny, asked[i]), before[i]);
    }
    sink.good_writes.reset();
    ASSERT_TRUE(exporter.write(c.view()));
    expect_answers_of(c.view(), model, asked);
  }
  EXPECT_GT(failed, 6u);
}

} // namespace
} // namespace weir::registers_test
