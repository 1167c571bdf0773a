// Parser against oracle, without any rules: what kind of frame is it, whose addresses does it carry?
#include "tests/support/oracle.hpp"
#include "tests/support/random_rules.hpp"
#include "weir/key/tunnel.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weir::test::parse_oracle_test {
namespace {

// The reason that the packet path would give when nothing is listed.
Reason kind_as_reason(const ParsedPacket &packet) {
  if (packet.link_local) return Reason::link_local;
  switch (packet.kind) {
  case PacketKind::malformed: return Reason::malformed;
  case PacketKind::non_ip: return Reason::non_ip;
  case PacketKind::too_many_tags: return Reason::too_many_tags;
  default: return Reason::fallthrough;
  }
}

Policy policy_of(Match match) {
  Policy policy;
  policy.match = match;
  return policy;
}

// The copy ends where the frame ends, so that the address sanitizer sees a byte read too far.
ParsedPacket parse_exact_copy(const Frame &frame) {
  const auto copy = std::make_unique<std::uint8_t[]>(frame.bytes.size());
  std::copy(frame.bytes.begin(), frame.bytes.end(), copy.get());
  return parse_packet(copy.get(), frame.bytes.size());
}

TEST(ParserAgainstOracle, agree_on_the_kind_of_every_random_frame) {
  const std::uint64_t seed = test_seed();
  Random random(seed);
  const RuleSet rules = random_rules(random);
  const Oracle judge; // no lists: what is an ordinary packet falls through
  std::array<unsigned, reason_count> seen{};
  unsigned under_many_tags = 0, behind_snap = 0, plain_v4 = 0, plain_v6 = 0, tagged_v4 = 0, tagged_v6 = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Frame frame = random_frame(random, rules);
    const Reason wanted = judge.judge(frame.bytes).reason;
    const ParsedPacket packet = parse_exact_copy(frame);
    const auto expect_plain = [&](bool plain, const ParsedPacket &as, unsigned &count) {
      if (!plain) return;
      EXPECT_EQ(packet, as) << "frame " << i << ", seed " << seed;
      ++count;
    };
    const std::uint8_t *const bytes = frame.bytes.data();
    const std::size_t captured = frame.bytes.size();
    expect_plain(is_plain_ipv4<0>(bytes, captured), plain_ipv4<0>, plain_v4);
    expect_plain(is_plain_ipv4<1>(bytes, captured), plain_ipv4<1>, tagged_v4);
    expect_plain(is_plain_ipv6<0>(bytes, captured), plain_ipv6<0>, plain_v6);
    expect_plain(is_plain_ipv6<1>(bytes, captured), plain_ipv6<1>, tagged_v6);
    ASSERT_EQ(name_of(kind_as_reason(packet)), name_of(wanted)) << "frame " << i << ", seed " << seed;
    under_many_tags += packet.is_ip() && packet.tags > 2;
    behind_snap += packet.is_ip() && packet.header_offset > 14 + 4 * packet.tags;
    ++seen[static_cast<std::size_t>(wanted)];
  }
  for (const Reason reason :
       {Reason::malformed, Reason::non_ip, Reason::too_many_tags, Reason::link_local, Reason::fallthrough})
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 100u)
        << name_of(reason) << " was hardly tried, seed " << seed;
  EXPECT_GT(under_many_tags, 100u) << "seed " << seed;
  EXPECT_GT(behind_snap, 100u) << "seed " << seed;
  EXPECT_GT(plain_v4, 1000u) << "seed " << seed;
  EXPECT_GT(plain_v6, 1000u) << "seed " << seed;
  EXPECT_GT(tagged_v4, 100u) << "seed " << seed;
  EXPECT_GT(tagged_v6, 100u) << "seed " << seed;
}

TEST(ParserAgainstOracle, agree_on_the_addresses_of_every_random_frame) {
  const std::uint64_t seed = test_seed() + 1;
  Random random(seed);
  const RuleSet rules = random_rules(random);
  for (int i = 0; i < 20'000; ++i) {
    const Frame frame = random_frame(random, rules);
    const ParsedPacket packet = parse_exact_copy(frame);
    if (!packet.is_ip() || packet.link_local) continue;
    const Address source = address_at(packet, frame.bytes.data(), packet.source_offset);
    const Address destination = address_at(packet, frame.bytes.data(), packet.destination_offset);

    // Only these two addresses are listed, each alone.
    Oracle judge(policy_of(Match::source));
    judge.deny({source, static_cast<std::uint8_t>(address_bits(source.family))}, "source");
    ASSERT_EQ(judge.judge(frame.bytes).list, "source") << "frame " << i << ", seed " << seed;
    Oracle other(policy_of(Match::destination));
    other.deny({destination, static_cast<std::uint8_t>(address_bits(source.family))}, "destination");
    ASSERT_EQ(other.judge(frame.bytes).list, "destination") << "frame " << i << ", seed " << seed;
  }
}

// Under `inner` it is the oracle that says what is inside: which list is asked, or why none.
TEST(ParserAgainstOracle, agree_on_what_every_random_frame_carries) {
  const std::uint64_t seed = test_seed() + 2;
  Random random(seed);
  const RuleSet rules = random_rules(random);
  unsigned carried = 0, broken = 0, nothing = 0;
  for (int i = 0; i < 50'000; ++i) {
    const Frame frame = random_frame(random, rules);
    const ParsedPacket outer = parse_exact_copy(frame);
    if (!outer.is_ip() || outer.link_local) continue;
    const auto copy = std::make_unique<std::uint8_t[]>(frame.bytes.size());
    std::copy(frame.bytes.begin(), frame.bytes.end(), copy.get());
    const ParsedPacket inside = look_inside(copy.get(), frame.bytes.size(), outer);
    const bool judged = inside.is_ip() && !inside.link_local;
    const ParsedPacket &asked = judged ? inside : outer;
    if (is_plain_ipv4<0>(copy.get(), frame.bytes.size()) && !may_carry(copy.get(), frame.bytes.size())) {
      ASSERT_EQ(inside.kind, PacketKind::non_ip) << "frame " << i << ", seed " << seed;
    }

    Oracle judge(policy_of(Match::source));
    Policy policy = judge.policy();
    policy.tunnels = Tunnels::inner;
    judge.set_policy(policy);
    const Address source = address_at(asked, frame.bytes.data(), asked.source_offset);
    judge.deny({source, static_cast<std::uint8_t>(address_bits(source.family))}, "source");
    const Judgement judgement = judge.judge(frame.bytes);
    const Reason wanted = inside.kind == PacketKind::malformed || inside.kind == PacketKind::too_many_tags
                              ? kind_as_reason(inside)
                              : Reason::deny;
    ASSERT_EQ(name_of(judgement.reason), name_of(wanted)) << "frame " << i << ", seed " << seed;
    carried += judged;
    broken += wanted == Reason::malformed;
    nothing += inside.kind == PacketKind::non_ip;
  }
  EXPECT_GT(carried, 2000u) << "seed " << seed;
  EXPECT_GT(broken, 200u) << "seed " << seed;
  EXPECT_GT(nothing, 2000u) << "seed " << seed;
}

} // namespace
} // namespace weir::test::parse_oracle_test
