// Denied hosts dress up as what a link needs before anybody has an address: DHCP requests and neighbour
// discovery. Only what is exactly that passes, and not even that under `policy.link_local: drop`.
#include "tests/attack/attack.hpp"
#include "tests/attack/replays.hpp"

#include <array>

namespace weir::attack::link_local_test {

namespace {

using test::Frame;
using test::FrameBuilder;

constexpr std::uint32_t frames = 20'000;
const std::vector<std::string> denied{
    "0.0.0.0",   "255.255.255.255", "192.0.2.66", "198.51.100.0/24",   "::",
    "fe80::bad", "2001:db8::bad",   "ff02::bad",  "2001:db8:bad::/48", "fec0::/16"};
constexpr std::array hosts4{"192.0.2.66", "198.51.100.9", "0.0.0.1", "255.255.255.254"};
constexpr std::array far6{"2001:db8::bad", "2001:db8:bad::1", "fec0::1", "::1"};
constexpr std::array near6{"fe80::bad", "febf::1", "ff02::bad", "ff02::1", "::"};

template <class List> const char *any_of(Random &random, const List &list) {
  return list[random.below(static_cast<std::uint32_t>(list.size()))];
}

// A request, or one with a fault or two.
void add_dhcp(Random &random, FrameBuilder &builder) {
  test::Ipv4Fields fields{.source = "0.0.0.0", .destination = "255.255.255.255"};
  unsigned from = 68, to = 67;
  bool tcp = false;
  for (unsigned faults = random.below(3); faults > 0; --faults) switch (random.below(8)) {
    case 0: fields.source = any_of(random, hosts4); break;
    case 1: fields.destination = any_of(random, hosts4); break;
    case 2: from = random.one_in(2) ? 67 : random.below(65'536); break;
    case 3: to = random.one_in(2) ? 68 : random.below(65'536); break;
    case 4: fields.fragment_offset = 1 + random.below(8191); break;
    case 5: tcp = true; break;
    case 6: fields.options_words = random.below(11); break;
    default: fields.more_fragments = true;
    }
  builder.ipv4(fields);
  tcp ? builder.tcp(from, to) : builder.udp(from, to);
}

void add_discovery(Random &random, FrameBuilder &builder) {
  test::Ipv6Fields fields{.source = any_of(random, near6), .destination = any_of(random, near6)};
  unsigned type = 133 + random.below(5);
  bool other = false;
  if (random.one_in(2)) fields.source = any_of(random, far6);
  if (random.one_in(2)) fields.destination = any_of(random, far6);
  for (unsigned faults = random.below(3); faults > 0; --faults) switch (random.below(4)) {
    case 0: fields.hop_limit = random.one_in(2) ? 254 : random.below(256); break;
    case 1: type = random.one_in(2) ? (random.one_in(2) ? 132 : 138) : random.below(256); break;
    case 2: fields.extensions = {std::array{0u, 43u, 44u, 60u}[random.below(4)]}; break;
    default: other = true;
    }
  if (!other && fields.hop_limit == 64) fields.hop_limit = 255;
  builder.ipv6(fields);
  other ? builder.udp(type, 255) : builder.icmp6(type);
}

Frame look_alike(Random &random) {
  FrameBuilder builder;
  builder.ethernet();
  if (random.one_in(4)) builder.vlan(random.below(3));
  random.one_in(2) ? add_dhcp(random, builder) : add_discovery(random, builder);
  builder.payload(24);
  return random.one_in(20) ? builder.frame(34 + random.below(30)) : builder.frame();
}

} // namespace

class LinkLocal : public Attack {};

TEST_F(LinkLocal, look_alikes_are_judged_by_the_lists) {
  rounds("link-local", [](Random &random) {
    Policy policy;
    policy.match = random.one_in(2) ? Match::either : Match::source;
    if (random.one_in(3)) policy.link_local = Verdict::drop;
    if (random.one_in(3)) policy.fallthrough = Verdict::drop;
    Replays replays(policy, {{"drop", denied}}, {});
    std::vector<Frame> sent;
    for (std::uint32_t i = 0; i < frames; ++i) sent.push_back(look_alike(random));
    std::map<std::string, std::uint64_t> seen;
    for (const test::VerdictRow &row : replays.judged_like_the_oracle(sent)) {
      ++seen[row.reason];
      if (row.reason != "link_local") continue;
      ASSERT_EQ(row.verdict, name_of(policy.link_local)) << "packet " << row.index;
    }
    for (const char *reason : {"link_local", "deny", "default"})
      EXPECT_GT(seen[reason], frames / 100) << reason << " was hardly tried";
  });
}

} // namespace weir::attack::link_local_test
