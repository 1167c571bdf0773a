// The description of the memory of offenders: what attaches, what is refused, and what stands for what.
#include "weir/image/offenders.hpp"

#include "tests/support/offenders_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

namespace weir::test::offenders_test {
namespace {

using image::OffendersHeader;
using image::OffendersView;

Address address(const char *text) { return parse_address(text).value(); }

TEST(Offenders, what_was_built_attaches_and_says_the_same) {
  OffendersCase c;
  c.filter = OffenderFilter::stable;
  c.element = OffenderElement::header;
  c.spared = {parse_prefix("192.0.2.0/24").value(), parse_prefix("2001:db8::/32").value()};
  c.trees = one_split(image::offender_features(c.element), image::offender_feature::address, 128, -1, 1);
  AlignedSection section(c.section());
  const auto view = OffendersView::attach(section.bytes());
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->filter(), OffenderFilter::stable);
  EXPECT_EQ(view->element(), OffenderElement::header);
  EXPECT_EQ(view->action(), OffenderAction::drop);
  ASSERT_EQ(view->groups().size(), 2u);
  EXPECT_GT(view->cell_bits(), 1000u);
  EXPECT_TRUE(view->spares(address("192.0.2.9")));
  EXPECT_FALSE(view->spares(address("192.0.3.1")));
  EXPECT_TRUE(view->spares(address("2001:db8::1")));
  EXPECT_EQ(view->group_of(view->score_of(address("10.0.0.1"), {})), 0u);
  EXPECT_EQ(view->group_of(view->score_of(address("203.0.113.1"), {})), 1u);
}

TEST(Offenders, a_key_is_what_the_element_says_and_no_more) {
  const Traits one{.protocol = 6, .port = 3}, other{.protocol = 17, .port = 3};
  const Address a = address("192.0.2.1"), v6 = address("::ffff:192.0.2.1");
  const auto key = [&](OffenderElement element, const Address &of, const Traits &traits) {
    return image::offender_key(element, of, traits, 5).bits;
  };
  EXPECT_EQ(key(OffenderElement::source, a, one), key(OffenderElement::source, a, other));
  EXPECT_NE(key(OffenderElement::header, a, one), key(OffenderElement::header, a, other));
  EXPECT_NE(key(OffenderElement::source, a, one), key(OffenderElement::source, v6, one));
  EXPECT_NE(key(OffenderElement::source, a, one),
            image::offender_key(OffenderElement::source, a, one, 6).bits);
}

TEST(Offenders, the_same_memory_is_known_by_its_digest) {
  const auto digest = [](const OffendersCase &c) {
    AlignedSection section(c.section());
    return OffendersView::attach(section.bytes()).value().shape_digest();
  };
  const OffendersCase c;
  OffendersCase same = c;
  same.action = OffenderAction::rate_limit;
  same.limit = 5, same.burst = 5;
  same.spared = {parse_prefix("10.0.0.0/8").value()};
  same.tells_above = 100;
  EXPECT_EQ(digest(same), digest(c)) << "what is done with a packet is no matter of the memory";
  std::set<std::uint64_t> digests{digest(c)};
  const auto differs = [&](const std::function<void(OffendersCase &)> &change) {
    OffendersCase other = c;
    change(other);
    EXPECT_TRUE(digests.insert(digest(other)).second);
  };
  differs([](auto &o) { o.seed = 78; });
  differs([](auto &o) { o.targets.gap = 2000; });
  differs([](auto &o) { o.filter = OffenderFilter::stable; });
  differs([](auto &o) { o.element = OffenderElement::header; });
  differs([](auto &o) { o.trees = one_split(10, 1, 128, -1, 1); });
  differs([](auto &o) { o.trees = one_split(10, 1, 129, -1, 1); });
}

TEST(Offenders, nonsense_is_refused_with_what_is_wrong) {
  OffendersCase c;
  c.spared = {parse_prefix("10.0.0.0/8").value()};
  c.trees = one_split(10, 1, 128, -1, 1);
  const auto refused = [&](const std::function<void(OffendersHeader &, image::OffenderGroup *)> &damage) {
    AlignedSection section(c.section());
    auto *header = reinterpret_cast<OffendersHeader *>(section.bytes().data());
    damage(*header, reinterpret_cast<image::OffenderGroup *>(header + 1));
    const auto view = OffendersView::attach(section.bytes());
    return view ? std::string() : view.error().message;
  };
  EXPECT_EQ(refused([](auto &, auto *) {}), "");
  using Text = std::string;
  const auto expect = [](const Text &message, const char *part) {
    EXPECT_NE(message.find(part), Text::npos) << message << " lacks " << part;
  };
  expect(refused([](auto &h, auto *) { h.magic[0] = 'X'; }), "does not begin");
  expect(refused([](auto &h, auto *) { h.element = 2; }), "does not know");
  expect(refused([](auto &h, auto *) { h.action = 4; }), "does not know");
  expect(refused([](auto &h, auto *) { h.filter = 0; }), "does not know");
  expect(refused([](auto &h, auto *) { h.groups = 65; }), "65 groups");
  expect(refused([](auto &h, auto *) { h.groups = 0; }), "0 groups");
  expect(refused([](auto &h, auto *) { h.groups = 3; }), "");
  expect(refused([](auto &h, auto *) { h.gap = 0; }), "gap of 0");
  expect(refused([](auto &h, auto *) { h.turn = 0; }), "never take");
  expect(refused([](auto &h, auto *) { h.action = 1; }), "rate limit");
  expect(refused([](auto &h, auto *) { h.neighbours = 64; }), "another size");
  expect(refused([](auto &h, auto *) { h.trees_bytes = 0; }), "go together");
  expect(refused([](auto &h, auto *) { h.spared_v4 = 9; }), "size");
  expect(refused([](auto &h, auto *) { h.spared_v4 = ~0u; }), "size");
  expect(refused([](auto &h, auto *) { h.trees_bytes = ~std::uint64_t{0}; }), "size");
  expect(refused([](auto &h, auto *) { h.reserved[1] = 1; }), "reserved");
  expect(refused([](auto &h, auto *) { h.wanted_missed = image::stack_rate_max + 1; }), "above 1");
  expect(refused([](auto &, auto *g) { g[0].below = INFINITY; }), "thresholds");
  expect(refused([](auto &, auto *g) { g[0].below = NAN; }), "thresholds");
  expect(refused([](auto &, auto *g) { g[1].below = 0; }), "thresholds");
  expect(refused([](auto &, auto *g) { g[0].words = 0; }), "no word");
  expect(refused([](auto &, auto *g) { g[0].words = ~0u; }), "more memory");
  expect(refused([](auto &, auto *g) { g[0].hashes = 33; }), "hash functions");
  expect(refused([](auto &, auto *g) { g[0].answer = image::OffenderAnswer(3); }), "kind");
  expect(refused([](auto &, auto *g) { g[0].reserved[4] = 1; }), "reserved");
  AlignedSection section(c.section());
  EXPECT_FALSE(OffendersView::attach(section.bytes().first(sizeof(OffendersHeader) - 1)));
  EXPECT_FALSE(OffendersView::attach(section.bytes().first(section.bytes().size() - 1)));
}

// Whatever one byte says, the section is refused or nothing is read outside (under the sanitizers).
TEST(Offenders, one_changed_byte_leads_nowhere) {
  const std::uint64_t seed = seed_or(7);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  OffendersCase c;
  c.filter = OffenderFilter::stable;
  c.trees = one_split(10, 1, 128, -1, 1);
  const auto good = c.section();
  const Address a = address("203.0.113.1");
  unsigned attached = 0;
  for (int i = 0; i < 3000; ++i) {
    AlignedSection section(good);
    const std::size_t head = sizeof(OffendersHeader) + 2 * sizeof(image::OffenderGroup);
    const std::size_t at = i % 2 == 0 ? random() % head : random() % good.size();
    section.bytes()[at] = static_cast<std::byte>(random());
    const auto view = OffendersView::attach(section.bytes());
    if (!view) continue;
    ++attached;
    ASSERT_LT(view->group_of(view->score_of(a, {})), view->groups().size());
    (void)view->spares(a);
  }
  EXPECT_GT(attached, 100u);
}

} // namespace
} // namespace weir::test::offenders_test
