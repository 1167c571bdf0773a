// Denied hosts hide behind VLAN tags and 802.3 headers. Whatever stack a host at the other end may take IP
// from, nothing of a denied one passes; what passes and why is what the oracle says, packet by packet.
#include "tests/attack/attack.hpp"
#include "tests/attack/feeder.hpp"
#include "tests/attack/replays.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::attack::tags_test {

namespace {

using test::Frame;
using test::FrameBuilder;

constexpr std::uint32_t frames = 20'000, denied_hosts = 300;
constexpr std::array tag_types{0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u};

// A host that is greedier than any: it steps over tags, and over SNAP behind a length, as many as there are
// and in every order, and takes what then looks like IP. The source, when there is one.
std::optional<Address> source_for_a_greedy_host(const std::vector<std::uint8_t> &frame) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    unsigned value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | (at + i < frame.size() ? frame[at + i] : 0u);
    return value;
  };
  for (std::size_t at = 12; at + 2 <= frame.size();) {
    const unsigned type = number(at, 2);
    at += 2;
    if (std::ranges::find(tag_types, type) != tag_types.end())
      at += 2;
    else if (type < 0x0600 && number(at, 3) == 0xAAAA03)
      at += 6;
    else if (type == 0x0800 && at + 20 <= frame.size() && frame[at] >> 4 == 4)
      return Address::from_host(number(at + 12, 4));
    else if (type == 0x86DD && at + 40 <= frame.size() && frame[at] >> 4 == 6)
      return Address::from_v6(frame.data() + at + 8);
    else
      return std::nullopt;
  }
  return std::nullopt;
}

struct Hosts {
  std::vector<std::string> denied, allowed;
  explicit Hosts(Random &random) {
    for (std::uint32_t i = 0; i < denied_hosts; ++i)
      denied.push_back(i % 4 == 0 ? fmt::format("2001:db8:{:x}::{:x}", random.below(9), random.below(65'536))
                                  : dotted(0x0B000000 + random.below(1 << 20)));
    for (std::uint32_t i = 0; i < 20; ++i) allowed.push_back(dotted(0x0C000000 + random.below(1 << 20)));
  }
};

Frame random_stack(Random &random, const Hosts &hosts) {
  FrameBuilder builder;
  builder.ethernet();
  const bool priority_alone = random.one_in(2);
  for (unsigned layers = random.below(12); layers > 0; --layers) {
    if (random.one_in(8)) {
      builder.snap(random.one_in(3) ? 0xF8 : 0);
      continue;
    }
    const bool names_a_vlan = !priority_alone && random.one_in(3);
    builder.vlan(random.below(16) << 12 | (names_a_vlan ? 1 + random.below(4095) : 0),
                 tag_types[random.below(tag_types.size())]);
  }
  if (random.one_in(30)) builder.mpls(17); // no host takes this
  const auto &from = random.one_in(8) ? hosts.allowed : hosts.denied;
  std::string source = from[random.below(static_cast<std::uint32_t>(from.size()))];
  if (random.one_in(10)) source = dotted(0x0D000000 + random.below(1 << 24));
  if (source.find(':') != std::string::npos)
    builder.ipv6({.source = source});
  else
    builder.ipv4({.source = source, .options_words = random.one_in(5) ? random.below(11) : 0});
  random.one_in(2) ? builder.udp(1024, 53) : builder.tcp(1024, 443);
  return builder.payload(random.below(40)).frame();
}

class Tags : public Attack {
protected:
  static void round(Random &random, const Policy &policy) {
    const Hosts hosts(random);
    Replays replays(policy, {{"drop", hosts.denied}}, {{"ops", hosts.allowed}});
    std::vector<Frame> sent;
    for (std::uint32_t i = 0; i < frames; ++i) sent.push_back(random_stack(random, hosts));
    const std::vector<test::VerdictRow> rows = replays.judged_like_the_oracle(sent);
    ASSERT_EQ(rows.size(), sent.size());
    std::uint64_t takeable = 0, passed_allowed = 0;
    for (const test::VerdictRow &row : rows) {
      const auto source = source_for_a_greedy_host(sent[row.index].bytes);
      if (!source) continue;
      const bool denied = replays.oracle().denied_by(*source).has_value();
      const bool allowed = replays.oracle().allowed_by(*source).has_value();
      takeable += denied;
      passed_allowed += allowed && row.verdict == "pass";
      if (allowed || (!denied && policy.fallthrough == Verdict::pass)) continue;
      ASSERT_EQ(row.verdict, "drop") << "packet " << row.index << " from " << weir::to_string(*source)
                                     << " passes for " << row.reason;
    }
    EXPECT_GT(takeable, frames / 2) << "hardly anything was tried";
    EXPECT_GT(passed_allowed, 0u) << "a gate that drops everything proves nothing";
  }
};

} // namespace

TEST_F(Tags, hide_no_denied_host_from_the_lists) {
  rounds("tags", [](Random &random) {
    Policy policy;
    if (random.one_in(2)) policy.fallthrough = Verdict::drop;
    round(random, policy);
  });
}

} // namespace weir::attack::tags_test
