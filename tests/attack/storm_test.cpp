// A judge in compact mode under sources that it sees once: strangers near denied hosts, a fresh one in each
// packet, beside sources that go on. What the traffic makes control learn must not make it build images
// without end: each is a core's work, and starts the learning anew.
#include "tests/attack/live_gate.hpp"

#include <fmt/format.h>

#include <thread>

namespace weir::attack::storm_test {

namespace {

struct Bound {
  std::string interval; // of the configuration; empty: the default
  std::chrono::seconds during;
  std::uint64_t generations; // that the traffic may ask for meanwhile
};
const Bound by_default{"", std::chrono::seconds(20), 3};
const Bound doubling{"replan: {interval: 1s}\n", std::chrono::seconds(30), 6}; // after 1, 2, 4, 8, 16 s

class Storm : public Attack {
protected:
  static void round(Random &random, const Bound &bound) {
    const DeniedHosts hosts(random, 10'000 + random.below(30'000));
    const double bits = 5 + random.below(6);
    const std::string more =
        fmt::format("{}samples: {{rate: 1/{}}}\n{}", compact_mode(hosts.all().size(), bits),
                    random.one_in(2) ? 1024 : 64, bound.interval);
    LiveGate gate("- {name: hosts, action: deny, file: hosts.txt}\n", more, false);
    SCOPED_TRACE(more);
    hosts.write(gate.pair().folder() / "hosts.txt");
    gate.start();
    if (HasFailure()) return;
    const std::uint64_t before = gate.generation();

    const test::Frame like = test::FrameBuilder().ethernet().ipv4().udp(1024, 53).payload(18).frame();
    std::vector<test::Frame> steady;
    for (unsigned i = 0; i < 50; ++i) {
      steady.push_back(like);
      put_source(steady.back().bytes.data(), hosts.stranger(random));
    }
    gate.feeder().steady(steady, 200);
    gate.feeder().flood(
        like, [&hosts, &random](std::uint8_t *frame) { put_source(frame, hosts.stranger(random)); });
    const double rate = gate.packets_per_s(bound.during);
    const std::uint64_t made = gate.generation() - before;
    say(fmt::format("storm: {} generations in {} s at {:.0f} kpps, {} hosts of {} bits", made,
                    bound.during.count(), rate / 1e3, hosts.all().size(), bits));
    EXPECT_GT(rate, 10'000) << "no flood";
    EXPECT_LE(made, bound.generations) << gate.reasons();
    gate.feeder().flood(like, nullptr);
  }
};

} // namespace

TEST_F(Storm, of_strangers_leads_to_few_generations) {
  rounds("storm", [](Random &random) { round(random, by_default); });
}

TEST_F(Storm, at_a_short_interval_leads_to_generations_no_faster_than_doubling) {
  rounds("storm-short", [](Random &random) { round(random, doubling); });
}

} // namespace weir::attack::storm_test
