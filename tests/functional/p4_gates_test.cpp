// One gate three times: the stages of the C++ dataplane, the generated program on DPDK's SWX, and p4/acl.p4
// itself in the interpreter of tests/support. They get the same image of family jhash, and the same packets;
// verdict and reason are compared packet by packet, counters at the end. What is left out is counted and
// said.
#include "dataplane/packet/stages.hpp"
#include "p4/export/exporter.hpp"
#include "p4/swx/gate.hpp"
#include "p4/swx/program.hpp"
#include "tests/p4/pair.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::p4_gates_test {
namespace {

using dataplane::Decision;
using test::Random;

constexpr auto sides = test::P4Pair::port_sides;

struct Packet {
  test::Frame frame;
  std::uint16_t port = 0;
};

std::string to_string(p4::Judgement judged) {
  return std::string(name_of(judged.verdict)) + ' ' + std::string(name_of(judged.reason));
}

// Calls use(burst, index of its first packet) with all packets as mbufs, 64 at a time.
void in_bursts(const std::vector<Packet> &packets, const auto &use) {
  constexpr std::size_t at_once = 64;
  for (std::size_t from = 0; from < packets.size(); from += at_once) {
    test::SwxBurst burst;
    for (std::size_t i = from; i < std::min(from + at_once, packets.size()); ++i)
      burst.add(packets[i].frame.bytes, packets[i].port);
    use(burst, from);
  }
}

// ---- the C++ dataplane -----------------------------------------------------------------------------

struct CppAnswer {
  p4::Judgement judged;
  ListId list = no_list;
};

class CppGate {
public:
  explicit CppGate(const image::ImageView &view) { image_->view = view; }

  std::vector<CppAnswer> judge(const std::vector<Packet> &packets) {
    std::vector<CppAnswer> answers;
    in_bursts(packets, [&](const test::SwxBurst &burst, std::size_t) {
      for (const p4::swx::Packet &packet : burst.packets()) answers.push_back(judge(packet));
    });
    return answers;
  }

private:
  CppAnswer judge(const p4::swx::Packet &packet) {
    dataplane::Burst &burst = *burst_;
    burst.image = image_.get();
    burst.policy = &image_->view.policy;
    burst.match = image_->view.policy.match;
    burst.judges_destination = judges_destination(burst.match, sides[packet.port]);
    burst.count = 1;
    burst.packets[0] = const_cast<rte_mbuf *>(packet.mbuf);
    (void)dataplane::measure_burst(burst);
    dataplane::parse_burst(burst);
    dataplane::ask_burst(burst, nullptr);
    dataplane::probe_burst(burst);
    dataplane::judge_burst(burst, Verdict::pass);
    const Decision decision = burst.decision(0);
    return {{decision.verdict, decision.reason}, decision.list};
  }

  std::unique_ptr<dataplane::AttachedImage> image_ = std::make_unique<dataplane::AttachedImage>();
  std::unique_ptr<dataplane::Burst> burst_ = std::make_unique<dataplane::Burst>();
};

// ---- the generated program -------------------------------------------------------------------------

std::unique_ptr<p4::Gate> make_swx_gate() {
  auto gate = p4::Gate::load_text(p4::program_spec(), "acl.spec");
  if (!gate) throw std::runtime_error(gate.error().message);
  return std::move(*gate);
}

std::vector<p4::Judgement> judge(p4::Gate &gate, const std::vector<Packet> &packets) {
  std::vector<p4::Judgement> judgements(packets.size());
  in_bursts(packets, [&](const test::SwxBurst &burst, std::size_t from) {
    const auto some = std::span(judgements).subspan(from, burst.packets().size());
    if (const Status done = gate.judge(burst.packets(), some); !done)
      throw std::runtime_error(done.error().message);
  });
  return judgements;
}

std::vector<Packet> some_packets(Random &random, const test::RuleSet &rules, unsigned count) {
  std::vector<Packet> packets;
  for (unsigned n = 0; n < count; ++n)
    packets.push_back(
        {test::random_frame(random, rules), static_cast<std::uint16_t>(random.below(sides.size()))});
  return packets;
}

// ---- tests -----------------------------------------------------------------------------------------

class P4Gates : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(test::start_eal()); }
};

constexpr std::array<test::P4Filters, 6> all_filters{{{},
                                                      {.guard = true},
                                                      {.guard = true, .late = true},
                                                      {.stack = true},
                                                      {.guard = true, .stack = true},
                                                      {.guard = true, .late = true, .stack = true}}};

TEST_F(P4Gates, say_the_same_of_every_packet) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  constexpr unsigned rounds = 120, packets_a_round = 1500;
  const std::unique_ptr<p4::Gate> swx = make_swx_gate();
  p4::Exporter to_swx(swx->registers());
  test::P4Excluded excluded;
  std::map<unsigned, std::uint64_t> reasons;
  std::map<ListId, std::uint64_t> lists;
  for (unsigned round = 0; round < rounds; ++round) {
    test::P4Pair pair(random,
                      all_filters[round % all_filters.size()]); // the source checks its counters itself
    (void)pair.change(random.below(100));
    excluded.lengths_v6 += pair.excluded().lengths_v6;
    excluded.match_either += pair.excluded().match_either;
    ASSERT_TRUE(pair.export_image());
    const auto exported = to_swx.write(pair.view(), {.ports = sides});
    ASSERT_TRUE(exported) << exported.error().message;
    const std::vector<Packet> packets = some_packets(random, pair.rules(), packets_a_round);
    const std::vector<CppAnswer> wanted = CppGate(pair.view()).judge(packets);
    const std::vector<p4::Judgement> judged = judge(*swx, packets);
    for (unsigned i = 0; i < packets.size(); ++i) {
      const std::string where = "round " + std::to_string(round) + " packet " + std::to_string(i);
      const auto [verdict, reason] = wanted[i].judged;
      ASSERT_EQ(to_string(judged[i]), to_string(wanted[i].judged)) << "SWX, " << where;
      const auto source = pair.program().judge(packets[i].frame.bytes, packets[i].port);
      ASSERT_TRUE(source) << source.error().message << ", " << where;
      ASSERT_EQ(to_string({source->verdict, source->reason}), to_string(wanted[i].judged))
          << "acl.p4, " << where;
      ASSERT_EQ(source->list_hit, wanted[i].list.next()) << "acl.p4, " << where;
      ++reasons[static_cast<unsigned>(reason)];
      if (wanted[i].list != no_list) ++lists[wanted[i].list];
    }
  }
  for (unsigned reason = 0; reason < reason_count; ++reason)
    EXPECT_EQ(swx->read_register("packets", reason).value(), reasons[reason])
        << name_of(static_cast<Reason>(reason));
  for (const auto &[list, packets] : lists)
    EXPECT_EQ(swx->read_register("list_hits", list.next().value()).value(), packets) << "list " << list;
  for (const Reason reason : {Reason::malformed, Reason::non_ip, Reason::too_many_tags, Reason::link_local,
                              Reason::allow, Reason::deny, Reason::fallthrough})
    EXPECT_GT(reasons[static_cast<unsigned>(reason)], 0u) << "no packet was judged " << name_of(reason);
  EXPECT_EQ(swx->strays(), 0u);
  std::cout << rounds * packets_a_round << " packets compared three ways, none left out; of the rules, "
            << excluded.lengths_v6 << " IPv6 prefixes were made one of 8 lengths and "
            << excluded.match_either << " policies `match: either` drawn again\n";
}

TEST_F(P4Gates, a_single_wrong_bit_in_a_register_is_seen) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  test::RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"deny", Side::deny, {}}};
  std::set<Prefix> hosts; // each once: an entry is asked for by one packet
  while (hosts.size() < 200) hosts.insert({test::random_address(random, Family::ipv4), 32});
  rules.lists[0].prefixes.assign(hosts.begin(), hosts.end());
  const test::TestImage image(rules, {.seed = random.bits(), .family = HashFamily::jhash});
  std::vector<Packet> packets;
  for (const Prefix &p : rules.lists[0].prefixes)
    packets.push_back({test::FrameBuilder()
                           .ethernet()
                           .ipv4({.source = weir::to_string(p.address), .destination = "192.0.2.1"})
                           .udp(1, 2)
                           .frame(),
                       0});
  const std::unique_ptr<p4::Gate> swx = make_swx_gate();
  p4::Exporter exporter(swx->registers());
  ASSERT_TRUE(exporter.write(image.view(), {.ports = sides}));
  const std::vector<CppAnswer> wanted = CppGate(image.view()).judge(packets);
  const auto mismatches = [&] {
    const auto judged = judge(*swx, packets);
    unsigned count = 0;
    for (unsigned i = 0; i < packets.size(); ++i) count += judged[i] != wanted[i].judged;
    return count;
  };
  ASSERT_EQ(mismatches(), 0u);

  const std::uint64_t slots = swx->registers().capacity("slots4").value();
  std::uint64_t at = 0, value = 0;
  for (; at < slots; ++at) { // the first entry of either bank
    value = swx->read_register("slots4", at).value();
    if (value != 0 && (value & p4::empty_slot) != p4::empty_slot) break;
  }
  ASSERT_LT(at, slots);
  const std::array<std::uint64_t, 1> wrong{value ^ std::uint64_t{1} << 40}, right{value};
  ASSERT_TRUE(swx->registers().write("slots4", at, wrong));
  EXPECT_EQ(mismatches(), 1u);
  ASSERT_TRUE(swx->registers().write("slots4", at, right));
  EXPECT_EQ(mismatches(), 0u);
}

TEST_F(P4Gates, packets_a_second_are_printed) {
  Random random(test::test_seed());
  const test::P4Pair pair(random, {});
  const std::unique_ptr<p4::Gate> swx = make_swx_gate();
  p4::Exporter exporter(swx->registers());
  ASSERT_TRUE(exporter.write(pair.view(), {.ports = sides}));
  test::SwxBurst burst;
  for (const Packet &packet : some_packets(random, pair.rules(), 64))
    burst.add(packet.frame.bytes, packet.port);
  std::array<p4::Judgement, 64> judgements;
  const auto start = std::chrono::steady_clock::now();
  constexpr unsigned bursts = 2000;
  for (unsigned n = 0; n < bursts; ++n) ASSERT_TRUE(swx->judge(burst.packets(), judgements));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << "SWX judges " << static_cast<std::uint64_t>(bursts * 64 / took.count())
            << " packets a second\n";
}

} // namespace
} // namespace weir::p4_gates_test
