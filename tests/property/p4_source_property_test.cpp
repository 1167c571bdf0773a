// The text of p4/acl.p4, interpreted, against images: whatever rules, filters and deltas an image holds,
// every frame gets the verdict, the reason and the list that weir's own lookup gives it, and every counter
// that the program changes agrees.
#include "p4/export/exporter.hpp"
#include "tests/support/deny_stack_case.hpp"
#include "tests/support/p4_acl.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/parse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir {
namespace {

using image::Side;
using test::P4Acl;
using test::Random;
using Answer = P4Acl::Answer;

constexpr std::array port_sides{PortSide::none, PortSide::outside, PortSide::inside};

struct Filters {
  bool guard = false, late = false, stack = false;
};

// The program asks for at most eight IPv6 lengths a side: each length becomes the next one of these.
constexpr std::array<std::uint8_t, 8> lengths_v6{0, 7, 24, 32, 48, 56, 64, 128};

test::RuleSet rules_for(Random &random, Filters filters) {
  test::RuleSet rules = test::random_rules(random, {.lists = 3, .prefixes_per_list = 2u << random.below(9)});
  for (test::TestList &list : rules.lists)
    for (Prefix &p : list.prefixes)
      if (p.family() == Family::ipv6) {
        p.length = *std::ranges::lower_bound(lengths_v6, p.length);
        p.address = masked(p.address, p.length);
      }
  while (rules.policy.match == Match::either) rules.policy = test::random_policy(random);
  if (filters.late) rules.policy.fallthrough = Verdict::pass;
  rules.policy.confirm = filters.late ? Confirm::on_conflict : Confirm::exact;
  return rules;
}

// `known`: memory for what the options point to.
test::ImageOptions options_for(Random &random, const test::RuleSet &rules, Filters filters,
                               std::vector<Address> &known) {
  test::ImageOptions options{.seed = random.bits(), .family = HashFamily::jhash};
  if (filters.guard) {
    options.guard =
        test::jhash_seesaw(600, 8u << random.below(8), 1u << random.below(6), 2 + random.below(5));
    for (unsigned n = 0; n < 200; ++n)
      options.guarded.push_back({{test::random_address(random, Family::ipv4), 32}, 1});
  }
  if (filters.stack) {
    options.stack = test::plan_of({filter::FilterKind::bloom, false, 1 + 2 * random.below(3), 5},
                                  image::StackRole::front);
    for (unsigned n = 0; n < 300; ++n)
      known.push_back(test::interesting_address(random, rules, Family::ipv4));
    options.stack->known = known;
  }
  return options;
}

// ---- what weir's own lookup says

Answer answer_for_address(const image::ImageView &view, const Address &address) {
  const auto list_of = [&](Side side) { return image::lookup(view, side, address) & 0xFFFF; };
  const std::uint32_t denied = list_of(Side::deny);
  const bool late = !view.guard.empty() && view.policy.confirm == Confirm::on_conflict;
  if (!late || denied != 0)
    if (const std::uint32_t allowed = list_of(Side::allow); allowed != 0)
      return {Verdict::pass, Reason::allow, allowed};
  if (denied != 0) return {Verdict::drop, Reason::deny, denied};
  return {view.policy.fallthrough, Reason::fallthrough, 0};
}

Answer answer_for(const image::ImageView &view, const test::Frame &frame, PortSide side) {
  const ParsedPacket packet = parse_packet(frame.bytes.data(), frame.bytes.size());
  const Policy &policy = view.policy;
  switch (packet.kind) {
  case PacketKind::malformed: return {policy.malformed, Reason::malformed, 0};
  case PacketKind::non_ip: return {policy.non_ip, Reason::non_ip, 0};
  case PacketKind::too_many_tags: return {policy.non_ip, Reason::too_many_tags, 0};
  case PacketKind::ipv4:
  case PacketKind::ipv6: break;
  }
  if (packet.link_local) return {policy.link_local, Reason::link_local, 0};
  const bool destination =
      policy.match == Match::destination || (policy.match == Match::remote && side == PortSide::inside);
  return answer_for_address(view, address_at(packet, frame.bytes.data(),
                                             destination ? packet.destination_offset : packet.source_offset));
}

// ---- the program beside an image

class Pair {
public:
  Pair(Random &random, Filters filters)
      : random_(random), rules_(rules_for(random, filters)),
        image_(rules_, options_for(random, rules_, filters, known_)),
        writer_(image::ImageWriter::attach(image_.bytes(), [] {}).value()), program_(P4Acl::load().value()),
        exporter_(program_) {
    const auto capacities = p4::capacities_for(view());
    if (!capacities) throw std::runtime_error(capacities.error().message);
    for (const p4::ArrayInfo &info : p4::arrays) {
      const auto done = program_.enlarge(info.name, (*capacities)[static_cast<std::size_t>(info.array)]);
      if (!done) throw std::runtime_error(done.error().message);
    }
  }

  [[nodiscard]] const image::ImageView &view() const noexcept { return writer_.view(); }
  [[nodiscard]] P4Acl &program() noexcept { return program_; }

  void export_image() {
    const auto done = exporter_.write(view(), {.ports = port_sides});
    ASSERT_TRUE(done) << done.error().message;
  }

  void compare_frames(unsigned count, std::array<unsigned, reason_count> &seen) {
    for (unsigned n = 0; n < count; ++n) {
      const test::Frame frame = test::random_frame(random_, rules_);
      const auto port = static_cast<std::uint16_t>(random_.below(port_sides.size()));
      const Answer wanted = answer_for(view(), frame, port_sides[port]);
      const auto is = program_.judge(frame.bytes, port, frame.original_bytes);
      ASSERT_TRUE(is) << is.error().message;
      ASSERT_EQ(is->reason, wanted.reason) << "wanted " << name_of(wanted.reason);
      ASSERT_EQ(is->verdict, wanted.verdict) << name_of(is->reason);
      ASSERT_EQ(is->list_hit, wanted.list_hit) << name_of(is->reason);
      ++seen[static_cast<std::size_t>(is->reason)];
    }
  }

  // A few entries come and go. True: some of them stand in the overlay now.
  bool change(unsigned count) {
    bool overlay = false;
    for (unsigned n = 0; n < count; ++n) {
      const test::TestList &list =
          rules_.lists[random_.below(static_cast<std::uint32_t>(rules_.lists.size()))];
      const Family family = random_.one_in(2) ? Family::ipv4 : Family::ipv6;
      Prefix p{test::interesting_address(random_, rules_, family),
               static_cast<std::uint8_t>(address_bits(family))};
      if (!list.prefixes.empty() && random_.one_in(2))
        p = list.prefixes[random_.below(static_cast<std::uint32_t>(list.prefixes.size()))];
      const wire::Delta delta{.op = random_.one_in(3) ? wire::DeltaOp::unset : wire::DeltaOp::set,
                              .side = list.side,
                              .family = p.family(),
                              .length = p.length,
                              .list = static_cast<std::uint16_t>(random_.below(3)),
                              .address = p.address.bytes};
      if (!writer_.check(delta)) continue;
      overlay |= writer_.apply(delta) == image::Change::overlay;
      writer_.grace_passed();
    }
    return overlay;
  }

private:
  Random &random_;
  test::RuleSet rules_;
  std::vector<Address> known_;
  test::TestImage image_;
  image::ImageWriter writer_;
  P4Acl program_;
  p4::Exporter exporter_;
};

constexpr std::array<Filters, 5> all_filters{
    {{}, {.guard = true}, {.guard = true, .late = true}, {.stack = true}, {.guard = true, .stack = true}}};

TEST(P4Source, judges_frames_as_the_lookup_of_the_image_does) {
  const std::uint64_t seed = test::seed_or(921);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  std::array<unsigned, reason_count> seen{};
  unsigned overlays = 0;
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Pair pair(random, all_filters[round % all_filters.size()]);
    for (unsigned step = 0; step < 3; ++step) {
      pair.export_image();
      pair.compare_frames(400, seen);
      if (HasFailure()) return;
      overlays += pair.change(25) ? 1 : 0;
    }
  }
  EXPECT_GT(overlays, 8u) << "overlays have to be in it";
  for (const Reason reason : {Reason::malformed, Reason::non_ip, Reason::too_many_tags, Reason::link_local,
                              Reason::allow, Reason::deny, Reason::fallthrough})
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 20u) << name_of(reason);
}

TEST(P4Source, says_no_image_until_one_is_exported) {
  for (const Verdict verdict : {Verdict::pass, Verdict::drop}) {
    P4Acl program = P4Acl::load().value();
    p4::Exporter exporter(program);
    ASSERT_TRUE(exporter.write_none({.no_image = verdict}));
    const test::Frame frame = test::FrameBuilder().ethernet().ipv4().udp(1, 2).frame();
    const auto is = program.judge(frame.bytes);
    ASSERT_TRUE(is) << is.error().message;
    EXPECT_EQ(*is, (Answer{verdict, Reason::no_image, 0}));
  }
}

// Of the slots of denied hosts, up to 10: one with a wrong bit, and how many of them then got a wrong answer.
void flip_bits(Pair &pair, Random &random, unsigned &tried, unsigned &differ) {
  const image::ImageView &view = pair.view();
  unsigned left = 10;
  for (std::uint64_t &slot : pair.program().machine().find("slots4")->elements) {
    const auto address = Address::from_wire(byteswap32(static_cast<std::uint32_t>(slot >> 32)));
    const std::uint32_t denied = image::lookup(view, Side::deny, address);
    const bool in_force = (slot & 0xFF'FFFF) == (denied & 0xFF'FFFF) && (slot >> 16 & 0xFF) == 32;
    if (left == 0 || !in_force || image::lookup(view, Side::allow, address) != 0) continue;
    const test::Ipv4Fields both{.source = to_string(address), .destination = to_string(address)};
    const test::Frame frame = test::FrameBuilder().ethernet().ipv4(both).tcp(1, 2).frame();
    const std::uint64_t before = slot;
    slot ^= std::uint64_t{1} << random.below(64);
    const auto is = pair.program().judge(frame.bytes);
    ASSERT_TRUE(is) << is.error().message;
    slot = before;
    --left, ++tried;
    if (*is != answer_for(view, frame, PortSide::none)) ++differ;
  }
}

TEST(P4Source, answers_otherwise_when_one_register_bit_is_wrong) {
  const std::uint64_t seed = test::seed_or(922);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  unsigned tried = 0, differ = 0;
  for (unsigned round = 0; round < 30 && tried < 60; ++round) {
    Pair pair(random, {});
    pair.export_image();
    flip_bits(pair, random, tried, differ);
    if (HasFailure()) return;
  }
  EXPECT_GE(tried, 30u);
  EXPECT_GT(differ, tried * 2 / 3); // the list may be the same by a shorter prefix
}

} // namespace
} // namespace weir
