// The text of p4/acl.p4, interpreted, against images: whatever rules, filters and deltas an image holds,
// every frame gets the verdict, the reason and the list that weir's own lookup gives it, and every counter
// that the program changes agrees.
#include "tests/p4/pair.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace weir::source_test {
namespace {

using test::P4Acl;
using test::P4Filters;
using test::P4Pair;
using test::Random;
using Answer = P4Acl::Answer;

void compare_frames(P4Pair &pair, Random &random, unsigned count, std::array<unsigned, reason_count> &seen) {
  for (unsigned n = 0; n < count; ++n) {
    const test::Frame frame = test::random_frame(random, pair.rules());
    const auto port = static_cast<std::uint16_t>(random.below(P4Pair::port_sides.size()));
    const Answer wanted = answer_of_image(pair.view(), frame, P4Pair::port_sides[port]);
    const auto is = pair.program().judge(frame.bytes, port, frame.original_bytes);
    ASSERT_TRUE(is) << is.error().message;
    ASSERT_EQ(is->reason, wanted.reason) << "wanted " << name_of(wanted.reason);
    ASSERT_EQ(is->verdict, wanted.verdict) << name_of(is->reason);
    ASSERT_EQ(is->list_hit, wanted.list_hit) << name_of(is->reason);
    ++seen[static_cast<std::size_t>(is->reason)];
  }
}

constexpr std::array<P4Filters, 5> all_filters{
    {{}, {.guard = true}, {.guard = true, .late = true}, {.stack = true}, {.guard = true, .stack = true}}};

TEST(P4Source, judges_frames_as_the_lookup_of_the_image_does) {
  const std::uint64_t seed = test::seed_or(921);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  std::array<unsigned, reason_count> seen{};
  unsigned overlays = 0;
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    P4Pair pair(random, all_filters[round % all_filters.size()]);
    for (unsigned step = 0; step < 3; ++step) {
      const auto done = pair.export_image();
      ASSERT_TRUE(done) << done.error().message;
      compare_frames(pair, random, 400, seen);
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
void flip_bits(P4Pair &pair, Random &random, unsigned &tried, unsigned &differ) {
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
    if (*is != answer_of_image(view, frame, PortSide::none)) ++differ;
  }
}

TEST(P4Source, answers_otherwise_when_one_register_bit_is_wrong) {
  const std::uint64_t seed = test::seed_or(922);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  unsigned tried = 0, differ = 0;
  for (unsigned round = 0; round < 30 && tried < 60; ++round) {
    P4Pair pair(random, {});
    ASSERT_TRUE(pair.export_image());
    flip_bits(pair, random, tried, differ);
    if (HasFailure()) return;
  }
  EXPECT_GE(tried, 30u);
  EXPECT_GT(differ, tried * 2 / 3); // the list may be the same by a shorter prefix
}

std::vector<test::Frame> frames_with_edges() {
  using test::FrameBuilder;
  std::vector<test::Frame> frames;
  const auto add = [&](const FrameBuilder &builder) { frames.push_back(builder.frame()); };
  for (unsigned words = 0; words <= 10; ++words)
    for (unsigned fragment : {0u, 1u})
      for (const char *to : {"255.255.255.255", "255.255.255.254"})
        add(FrameBuilder()
                .ethernet()
                .ipv4({.source = "0.0.0.0",
                       .destination = to,
                       .options_words = words,
                       .fragment_offset = fragment})
                .udp(68, 67)
                .payload(4));
  const test::Ipv4Fields client{.source = "0.0.0.0", .destination = "255.255.255.255"};
  add(FrameBuilder().ethernet().ipv4(client).udp(67, 68));
  add(FrameBuilder().ethernet().ipv4(client).tcp(68, 67));
  for (unsigned total : {0u, 19u, 20u, 23u, 24u, 28u})
    add(FrameBuilder().ethernet().ipv4({.options_words = 1, .total_length = total}).udp(1, 2));
  for (unsigned ihl : {0u, 4u, 6u, 15u})
    add(FrameBuilder().ethernet().ipv4({.ihl = ihl}).udp(1, 2).payload(40));
  for (unsigned version : {0u, 5u, 6u}) add(FrameBuilder().ethernet().ipv4({.version = version}).udp(1, 2));
  for (unsigned version : {4u, 5u}) add(FrameBuilder().ethernet().ipv6({.version = version}).udp(1, 2));
  for (unsigned type = 131; type < 140; ++type)
    for (unsigned hops : {254u, 255u})
      add(FrameBuilder()
              .ethernet()
              .vlan(3, 0x88A8)
              .ipv6({.source = "fe80::1", .hop_limit = hops})
              .icmp6(type));
  for (const char *one : {"fe7f:ffff::1", "fe80::", "febf:ffff::1", "fec0::", "feff::", "ff00::", "ffff::1",
                          "::", "::1", "0:0:0:1::", "0:1::", "1::", "2001:db8::1"}) {
    add(FrameBuilder().ethernet().ipv6({.source = one, .hop_limit = 255}).icmp6(135));
    add(FrameBuilder().ethernet().ipv6({.destination = one, .hop_limit = 255}).icmp6(135));
  }
  add(FrameBuilder().ethernet().ipv6({.source = "fe80::1", .hop_limit = 255, .extensions = {0}}).icmp6(135));
  for (unsigned tag : {0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u, 0x9400u}) {
    add(FrameBuilder().ethernet().vlan(1, tag).vlan(2, tag).ipv4().udp(1, 2));
    add(FrameBuilder().ethernet().vlan(1, tag).vlan(2, tag).vlan(3, tag).ipv6().udp(1, 2));
    add(FrameBuilder().ethernet().snap(0, tag).payload(40));
  }
  FrameBuilder tagged;
  tagged.ethernet();
  for (unsigned tags = 1; tags < 10; ++tags) {
    tagged.vlan(tags % 4 == 0 ? 1 : 0xE000);
    add(FrameBuilder(tagged).ipv4(client).udp(68, 67));
    add(FrameBuilder(tagged).vlan(0xFFF).ipv6().udp(1, 2));
    add(FrameBuilder(tagged).snap().ipv4({.source = "0.0.0.0", .options_words = 10}).udp(68, 67));
  }
  for (unsigned organisation : {0u, 0xF8u, 0xF9u, 0x0100u, 0x10000u, 0xFFFFFFu}) {
    add(FrameBuilder().ethernet().snap(organisation).ipv4().udp(1, 2));
    add(FrameBuilder()
            .ethernet()
            .snap(organisation)
            .ipv6({.source = "fe80::1", .hop_limit = 255})
            .icmp6(133));
    for (unsigned type : {0u, 0x05FFu, 0x0600u, 0x07FFu, 0x8100u})
      add(FrameBuilder().ethernet().snap(organisation, type).payload(40));
  }
  for (unsigned length : {0u, 0x05FFu, 0x0600u})
    add(FrameBuilder().ethernet().snap(0, {}, length).ipv4().udp(1, 2));
  add(FrameBuilder().ethernet().vlan(1).arp("10.0.0.1", "10.0.0.2"));
  add(FrameBuilder().ethernet().mpls(3));
  add(FrameBuilder().llc());
  return frames;
}

TEST(P4Source, classifies_every_cut_of_a_frame_as_the_parser_does) {
  const std::uint64_t seed = test::seed_or(924);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  P4Pair pair(random, {});
  for (unsigned bank : {1u, 0u}) {
    ASSERT_TRUE(pair.export_image());
    ASSERT_EQ(pair.program().machine().find("bank")->elements[0], bank);
    for (const test::Frame &whole : frames_with_edges())
      for (std::size_t bytes = 0; bytes <= whole.bytes.size(); ++bytes) {
        test::Frame frame = whole;
        frame.bytes.resize(bytes);
        const auto is = pair.program().judge(frame.bytes, 0, frame.original_bytes);
        ASSERT_TRUE(is) << is.error().message;
        ASSERT_EQ(*is, answer_of_image(pair.view(), frame, PortSide::none))
            << bytes << " of " << whole.bytes.size();
      }
  }
}

TEST(P4Source, gives_ports_without_a_side_none) {
  test::RuleSet rules;
  rules.policy.match = Match::remote;
  rules.lists.push_back({.name = "listed", .prefixes = {parse_prefix("203.0.113.7/32").value()}});
  const test::TestImage image(rules, {.family = HashFamily::jhash});
  std::vector<PortSide> sides(p4::limits::ports, PortSide::inside);
  sides[0] = PortSide::none;
  P4Acl program = P4Acl::load().value();
  p4::Exporter exporter(program);
  const test::Frame frame =
      test::FrameBuilder().ethernet().ipv4({.destination = "203.0.113.7"}).udp(1, 2).frame();
  for (unsigned bank = 0; bank < p4::banks; ++bank) {
    ASSERT_TRUE(exporter.write(image.view(), {.ports = sides}));
    for (const auto &[port, reason] : {std::pair(0, Reason::fallthrough),
                                       {1, Reason::deny},
                                       {63, Reason::deny},
                                       {64, Reason::fallthrough},
                                       {65, Reason::fallthrough},
                                       {0xFFFF, Reason::fallthrough}}) {
      const auto is = program.judge(frame.bytes, static_cast<std::uint16_t>(port));
      ASSERT_TRUE(is) << is.error().message;
      EXPECT_EQ(is->reason, reason) << port;
    }
  }
}

} // namespace
} // namespace weir::source_test
