#include "tests/support/random_rules.hpp"

#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <array>

namespace weir::test {
namespace {

Family random_family(Random &random) { return random.one_in(3) ? Family::ipv6 : Family::ipv4; }

Prefix prefix_of(const Address &address, unsigned length) {
  return {masked(address, length), static_cast<std::uint8_t>(length)};
}

Prefix random_prefix(Random &random, const std::vector<Prefix> &before) {
  if (!before.empty() && random.one_in(4)) { // the address of an earlier one at another length
    const Prefix &base = before[random.below(static_cast<std::uint32_t>(before.size()))];
    return prefix_of(base.address, random.below(address_bits(base.family()) + 1));
  }
  const Family family = random_family(random);
  const unsigned bits = address_bits(family);
  const unsigned length = random.one_in(2) ? bits : random.below(bits + 1);
  return prefix_of(random_address(random, family), length);
}

// Adds or takes away one unit of the last kept bit, so that the result lies next to the prefix.
Address neighbour(Random &random, const Prefix &prefix) {
  Address address = prefix.address;
  const bool up = random.one_in(2);
  for (unsigned bit = prefix.length; bit-- > 0;) {
    const auto mask = static_cast<std::uint8_t>(0x80 >> bit % 8);
    const bool was_set = address.bytes[bit / 8] & mask;
    address.bytes[bit / 8] ^= mask;
    if (was_set != up) break; // no carry
  }
  return address;
}

Address inside(Random &random, const Prefix &prefix) {
  Address address = prefix.address;
  const Address other = random_address(random, prefix.family());
  for (unsigned bit = prefix.length; bit < address_bits(prefix.family()); ++bit)
    address.bytes[bit / 8] |= other.bytes[bit / 8] & static_cast<std::uint8_t>(0x80 >> bit % 8);
  return address;
}

void add_transport(Random &random, FrameBuilder &builder, bool ipv6) {
  switch (random.below(6)) {
  case 0: builder.udp(68, 67).payload(20); break;
  case 1: ipv6 ? builder.icmp6(130 + random.below(10)) : builder.icmp(8); break;
  case 2: builder.tcp(random.below(65536), 80); break;
  case 3: break; // nothing after the IP header
  default: builder.udp(random.below(65536), 53).payload(random.below(40));
  }
}

// Up to ten tags, most of them without a VLAN where there are many.
void add_tags(Random &random, FrameBuilder &builder) {
  static constexpr std::array tag_types{0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u};
  const bool many = random.one_in(3);
  for (unsigned tags = 1 + random.below(many ? 10 : 3); tags > 0; --tags) {
    const unsigned priority = random.below(8) << 13;
    const bool names_a_vlan = !random.one_in(4) && (!many || random.one_in(6));
    builder.vlan(priority | (names_a_vlan ? 1 + random.below(4095) : 0), tag_types[random.below(5)]);
  }
}

// Mostly one that IP may follow; now and then a tag or another one behind it.
void add_snap(Random &random, FrameBuilder &builder) {
  static constexpr std::array organisations{0u, 0u, 0xF8u, 0x0Cu};
  static constexpr std::array lengths{0u, 8u, 0x05FFu, 0x0600u};
  std::optional<unsigned> length;
  if (random.one_in(4)) length = lengths[random.below(4)];
  std::optional<unsigned> type;
  if (random.one_in(8)) type = lengths[random.below(4)];
  builder.snap(organisations[random.below(4)], type, length);
  if (random.one_in(6)) add_tags(random, builder);
  if (random.one_in(6)) builder.snap();
}

void add_ipv4(Random &random, FrameBuilder &builder, const RuleSet &rules);
void add_ipv6(Random &random, FrameBuilder &builder, const RuleSet &rules);

void add_ip(Random &random, FrameBuilder &builder, const RuleSet &rules) {
  random_family(random) == Family::ipv6 ? add_ipv6(random, builder, rules) : add_ipv4(random, builder, rules);
}

// A header of a tunnel and what it carries, a tunnel again at times.
void add_tunnel(Random &random, FrameBuilder &builder, const RuleSet &rules) {
  static constexpr std::array gre_options{0x8000u, 0x2000u, 0x1000u};
  static constexpr std::array other_gre{0x4000u, 0x0001u, 0x0800u};
  const unsigned kind = random.below(4);
  bool ethernet = false;
  if (kind == 1) {
    unsigned flags = 0;
    for (const unsigned option : gre_options) flags |= random.one_in(3) ? option : 0;
    if (random.one_in(10)) flags |= other_gre[random.below(3)];
    std::optional<unsigned> type;
    if (random.one_in(10)) type = 0x880Bu;
    builder.gre(flags, type);
    ethernet = random.one_in(3);
  } else if (kind >= 2) {
    builder.udp(random.below(65536), random.one_in(6) ? 4788 + random.below(3) : 4789);
    builder.vxlan(random.one_in(10) ? random.below(256) : 8);
    ethernet = true;
  }
  if (ethernet) {
    builder.ethernet();
    if (random.one_in(4)) add_tags(random, builder);
    if (random.one_in(12)) builder.snap();
    if (random.one_in(10)) {
      builder.arp("10.0.0.1", "10.0.0.2");
      return;
    }
  }
  add_ip(random, builder, rules);
}

void add_payload(Random &random, FrameBuilder &builder, const RuleSet &rules, bool ipv6) {
  random.one_in(4) ? add_tunnel(random, builder, rules) : add_transport(random, builder, ipv6);
}

void add_ipv4(Random &random, FrameBuilder &builder, const RuleSet &rules) {
  Ipv4Fields fields;
  fields.source = to_string(interesting_address(random, rules, Family::ipv4));
  fields.destination = to_string(interesting_address(random, rules, Family::ipv4));
  const unsigned dhcp = random.below(12); // like a request, and half of one
  if (dhcp <= 1) fields.source = "0.0.0.0";
  if (dhcp == 1 || dhcp == 2) fields.destination = "255.255.255.255";
  if (random.one_in(5)) fields.options_words = random.below(11);
  if (random.one_in(8)) fields.fragment_offset = random.below(8192);
  fields.more_fragments = random.one_in(8);
  if (random.one_in(20)) fields.version = random.below(16);
  if (random.one_in(20)) fields.ihl = random.below(16);
  if (random.one_in(20)) fields.total_length = random.below(80);
  builder.ipv4(fields);
  add_payload(random, builder, rules, false);
}

// The edges of what stays on a link, from both sides.
constexpr std::array<const char *, 8> on_the_link{
    "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::", "fe7f::", "ff00::", "ff02::1", "::",
    "::1"};

void add_ipv6(Random &random, FrameBuilder &builder, const RuleSet &rules) {
  Ipv6Fields fields;
  fields.source = to_string(interesting_address(random, rules, Family::ipv6));
  fields.destination = to_string(interesting_address(random, rules, Family::ipv6));
  if (random.one_in(6)) fields.source = on_the_link[random.below(8)];
  if (random.one_in(6)) fields.destination = on_the_link[random.below(8)];
  if (random.one_in(3)) fields.hop_limit = 255;
  if (random.one_in(4))
    for (unsigned more = random.one_in(6) ? 1 + random.below(10) : 1; more > 0; --more)
      fields.extensions.push_back(std::array{0u, 43u, 44u, 60u}[random.below(4)]);
  if (random.one_in(20)) fields.version = random.below(16);
  builder.ipv6(fields);
  add_payload(random, builder, rules, true);
}

} // namespace

std::uint64_t test_seed() { return seed_or(20'240'611); }

Oracle RuleSet::oracle() const {
  Oracle judge(policy);
  for (const TestList &list : lists) {
    if (goes_on(list.on_match)) judge.lets_go_on(list.name);
    for (const Prefix &prefix : list.prefixes)
      list.side == Side::allow ? judge.allow(prefix, list.name) : judge.deny(prefix, list.name);
  }
  return judge;
}

Address random_address(Random &random, Family family) {
  static constexpr std::array<const char *, 8> nasty_v4{"0.0.0.0",         "255.255.255.255", "0.0.0.1",
                                                        "255.255.255.254", "127.0.0.1",       "128.0.0.0",
                                                        "10.0.0.0",        "224.0.0.1"};
  static constexpr std::array<const char *, 8> nasty_v6{
      "::",         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      "::1",        "::ffff:10.0.0.1",
      "fe80::1",    "8000::",
      "2001:db8::", "ff02::1"};
  if (random.one_in(10))
    return *parse_address((family == Family::ipv4 ? nasty_v4 : nasty_v6)[random.below(8)]);
  if (family == Family::ipv4) {
    // Half of them crowd in a few /16, where prefixes overlap.
    const std::uint32_t host = static_cast<std::uint32_t>(random.bits());
    return Address::from_host(random.one_in(2) ? host
                                               : 0x0A000000u | random.below(3) << 16 | (host & 0xFFFF));
  }
  std::array<std::uint64_t, 2> words{random.bits(), random.bits()};
  if (random.one_in(2)) words[0] = 0xB80D0120; // 2001:db8::/64
  return Address::from_v6(words.data());
}

Policy random_policy(Random &random) {
  Policy policy;
  policy.match = static_cast<Match>(random.below(4));
  for (Verdict *verdict :
       {&policy.fallthrough, &policy.non_ip, &policy.too_many_tags, &policy.link_local, &policy.malformed})
    if (random.one_in(2)) *verdict = random.one_in(2) ? Verdict::drop : Verdict::pass;
  return policy;
}

RuleSet random_rules(Random &random, RuleShape shape) {
  RuleSet rules;
  rules.policy = random_policy(random);
  std::vector<Prefix> all;
  for (unsigned i = 0; i < shape.lists; ++i) {
    const bool allow = i % 3 == 1;
    TestList list{(allow ? "good" : "bad") + std::to_string(i), allow ? Side::allow : Side::deny, {}};
    const unsigned count = allow ? shape.prefixes_per_list / 4 + 1 : shape.prefixes_per_list;
    for (unsigned n = 0; n < count; ++n) {
      Prefix prefix = random_prefix(random, all);
      // A few wide ones in each set, or they would decide about everything.
      const bool wide = prefix.length < (prefix.family() == Family::ipv4 ? 12 : 40);
      if (wide && random.below(allow ? 4 * count : count) != 0)
        prefix = prefix_of(prefix.address, address_bits(prefix.family()));
      list.prefixes.push_back(prefix);
      all.push_back(prefix);
    }
    rules.lists.push_back(std::move(list));
  }
  return rules;
}

Address interesting_address(Random &random, const RuleSet &rules, Family family) {
  if (rules.lists.empty() || random.one_in(6)) return random_address(random, family);
  const TestList &list = rules.lists[random.below(static_cast<std::uint32_t>(rules.lists.size()))];
  if (list.prefixes.empty()) return random_address(random, family);
  const Prefix &prefix = list.prefixes[random.below(static_cast<std::uint32_t>(list.prefixes.size()))];
  if (prefix.family() != family) return random_address(random, family);
  switch (random.below(4)) {
  case 0: return prefix.address;
  case 1: return neighbour(random, prefix);
  default: return inside(random, prefix);
  }
}

Frame random_frame(Random &random, const RuleSet &rules) {
  FrameBuilder builder;
  builder.ethernet();
  if (random.one_in(4)) add_tags(random, builder);
  if (random.one_in(12)) add_snap(random, builder);
  const std::uint32_t kind = random.below(20);
  if (kind == 0)
    builder.arp("10.0.0.1", "10.0.0.2");
  else if (kind == 1)
    builder.llc().payload(40);
  else if (kind == 2) {
    builder.mpls(17);
    add_ipv4(random, builder, rules);
  } else
    add_ip(random, builder, rules);
  Frame frame = builder.frame();
  if (random.one_in(10)) frame.bytes.resize(random.below(static_cast<std::uint32_t>(frame.bytes.size()) + 1));
  if (random.one_in(20) && !frame.bytes.empty()) // damage
    frame.bytes[random.below(static_cast<std::uint32_t>(frame.bytes.size()))] =
        static_cast<std::uint8_t>(random.bits());
  return frame;
}

} // namespace weir::test
