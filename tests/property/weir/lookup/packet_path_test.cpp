// Random rules, random frames: header parser, image and burst lookup together against the oracle.
#include "tests/support/test_image.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/parse.hpp"
#include "weir/lookup/burst_lookup.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace weir::test::packet_path_test {
namespace {

class Gate {
public:
  explicit Gate(const image::ImageView &view)
      : view_(view), burst_(std::make_unique<lookup::BurstLookup>()) {}

  // Judges up to 32 frames at once, as a worker does: two slots a frame.
  std::vector<Judgement> judge(std::span<const Frame> frames, PortSide side) {
    std::vector<ParsedPacket> packets;
    burst_->begin(view_);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto *bytes = frames[i].bytes.data();
      const ParsedPacket packet = parse_packet(bytes, frames[i].bytes.size());
      packets.push_back(packet);
      if (!packet.is_ip() || packet.link_local) continue;
      ask(packet, 2 * static_cast<unsigned>(i), bytes + packet.source_offset);
      ask(packet, 2 * static_cast<unsigned>(i) + 1, bytes + packet.destination_offset);
    }
    burst_->send();
    burst_->probe_first();
    burst_->finish();
    std::vector<Judgement> out;
    for (std::size_t i = 0; i < frames.size(); ++i)
      out.push_back(decide(packets[i], 2 * static_cast<unsigned>(i), side));
    return out;
  }

private:
  void ask(const ParsedPacket &packet, unsigned slot, const std::uint8_t *address) {
    packet.kind == PacketKind::ipv4 ? burst_->ask_v4(slot, load_unaligned<std::uint32_t>(address))
                                    : burst_->ask_v6(slot, address);
  }

  [[nodiscard]] std::string name(std::uint32_t value) const {
    return std::string(image::list_name(view_, table::value::list_of(value)));
  }

  [[nodiscard]] Judgement decide(const ParsedPacket &packet, unsigned slot, PortSide side) const {
    const Policy &policy = view_.policy;
    if (packet.kind == PacketKind::malformed) return {policy.malformed, Reason::malformed, ""};
    if (packet.kind == PacketKind::non_ip) return {policy.non_ip, Reason::non_ip, ""};
    if (packet.kind == PacketKind::too_many_tags) return {policy.too_many_tags, Reason::too_many_tags, ""};
    if (packet.link_local) return {policy.link_local, Reason::link_local, ""};
    const bool by_destination =
        policy.match == Match::destination || (policy.match == Match::remote && side == PortSide::inside);
    std::vector<unsigned> judged{by_destination ? slot + 1 : slot};
    if (policy.match == Match::either) judged = {slot, slot + 1};
    for (const unsigned s : judged)
      if (burst_->allow(s) == 0 && burst_->deny(s) != 0)
        return {Verdict::drop, Reason::deny, name(burst_->deny(s))};
    for (const unsigned s : judged)
      if (burst_->allow(s) != 0) return {Verdict::pass, Reason::allow, name(burst_->allow(s))};
    return {policy.fallthrough, Reason::fallthrough, ""};
  }

  const image::ImageView &view_;
  std::unique_ptr<lookup::BurstLookup> burst_;
};

struct Scenario {
  const char *name;
  unsigned rule_sets, frames;
  RuleShape shape;
  bool front_filter;
};

class PacketPath : public testing::TestWithParam<Scenario> {};

TEST_P(PacketPath, agrees_with_the_oracle_on_every_packet) {
  const Scenario &scenario = GetParam();
  unsigned allowed = 0, denied = 0, fell_through = 0;
  for (unsigned round = 0; round < scenario.rule_sets; ++round) {
    const std::uint64_t seed = test_seed() + round;
    Random random(seed);
    const RuleSet rules = random_rules(random, scenario.shape);
    const Oracle oracle = rules.oracle();
    const TestImage image(rules, {.seed = random.bits(), .front_filter = scenario.front_filter});
    Gate gate(image.view());
    for (unsigned done = 0; done < scenario.frames;) {
      std::vector<Frame> frames(1 + random.below(32));
      for (Frame &frame : frames) frame = random_frame(random, rules);
      const auto side = static_cast<PortSide>(random.below(3));
      const std::vector<Judgement> judged = gate.judge(frames, side);
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const Judgement wanted = oracle.judge(frames[i].bytes, side);
        ASSERT_EQ(to_string(judged[i]), to_string(wanted))
            << "rule set " << round << ", frame " << done + i << ", match " << name_of(rules.policy.match)
            << ", WEIR_SEED=" << test_seed();
        allowed += wanted.reason == Reason::allow;
        denied += wanted.reason == Reason::deny;
        fell_through += wanted.reason == Reason::fallthrough;
      }
      done += static_cast<unsigned>(frames.size());
    }
  }
  // A test that reaches only one branch proves little.
  const unsigned few = scenario.rule_sets * scenario.frames / 50;
  EXPECT_GT(allowed, few);
  EXPECT_GT(denied, few);
  EXPECT_GT(fell_through, few);
}

INSTANTIATE_TEST_SUITE_P(Rules, PacketPath,
                         testing::Values(Scenario{"few", 200, 500, {4, 8}, false},
                                         Scenario{"many", 20, 4000, {5, 400}, false},
                                         Scenario{"behind_a_front_filter", 20, 2000, {5, 200}, true},
                                         Scenario{"thousands", 2, 20'000, {4, 20'000}, false}),
                         [](const auto &scenario) { return scenario.param.name; });

// Every listed prefix, its first and last address, and the addresses just outside.
TEST(PrefixLookup, agrees_with_the_oracle_at_the_edges_of_every_prefix) {
  for (unsigned round = 0; round < 30; ++round) {
    const std::uint64_t seed = test_seed() + 1000 + round;
    Random random(seed);
    const RuleSet rules = random_rules(random, {.lists = 4, .prefixes_per_list = 60});
    const Oracle oracle = rules.oracle();
    const TestImage image(rules, {.seed = random.bits(), .front_filter = round % 2 == 1});
    for (int i = 0; i < 2000; ++i) {
      const Address address =
          interesting_address(random, rules, random.one_in(2) ? Family::ipv4 : Family::ipv6);
      for (const Side side : {Side::deny, Side::allow}) {
        const std::uint32_t value = image::lookup(image.view(), side, address);
        const auto wanted = side == Side::deny ? oracle.denied_by(address) : oracle.allowed_by(address);
        const std::string got =
            table::value::is_set(value)
                ? std::string(image::list_name(image.view(), table::value::list_of(value)))
                : "";
        ASSERT_EQ(got, wanted.value_or(""))
            << name_of(side) << ", rule set " << round << ", address " << i << ", WEIR_SEED=" << test_seed();
      }
    }
  }
}

} // namespace
} // namespace weir::test::packet_path_test
