// Sources that a judge denies in error, beside a flood of hosts that it denies rightly. Control learns of an
// error from samples of what is denied; the flood must not drown them, or whoever sends it decides how long
// others are cut off.
#include "tests/attack/live_gate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <thread>

namespace weir::attack::relief_test {

namespace {

constexpr std::uint32_t hosts_count = 50'000;
constexpr std::size_t sources_wanted = 20;
constexpr double packets_a_second = 20;
constexpr auto flood_alone = std::chrono::seconds(2);
constexpr double bound_s = 1; // from a source's first packet to the first one that passes
constexpr double measured_max_s = 10;

class Relief : public Attack {
protected:
  static void round(Random &random) {
    const DeniedHosts hosts(random, hosts_count);
    LiveGate gate("- {name: hosts, action: deny, file: hosts.txt}\n",
                  compact_mode(hosts_count, 6 + random.below(4)), true);
    hosts.write(gate.pair().folder() / "hosts.txt");
    gate.start();
    if (HasFailure()) return;
    std::vector<std::string> wronged = denied_in_error(gate, hosts, random, sources_wanted);
    ASSERT_EQ(wronged.size(), sources_wanted) << "the judge hardly errs";

    const test::Frame like = test::FrameBuilder().ethernet().ipv4().udp(1024, 53).payload(18).frame();
    gate.feeder().flood(like, [&hosts, at = std::size_t{0}](std::uint8_t *frame) mutable {
      put_source(frame, hosts.all()[at++ % hosts.all().size()]);
    });
    const double rate = gate.packets_per_s(flood_alone);
    EXPECT_GT(rate, 10'000) << "no flood";
    // An image that came meanwhile errs about others.
    std::erase_if(wronged, [&](const std::string &source) { return gate.verdict(source) != "drop"; });
    ASSERT_GE(wronged.size(), sources_wanted / 4);

    const auto generation = gate.generation();
    const Lateness lateness;
    const std::vector<double> took = times_until_relieved(gate, wronged);
    // How long a packet takes to the other side counts for nobody's relief, nor does a machine that is busy.
    const double margin = took.front() + 2 * lateness.worst_s();
    std::vector<double> sorted(took.begin() + 1, took.end());
    std::ranges::sort(sorted);
    say(fmt::format("relief: {} sources after {:.2f} to {:.2f} s (median {:.2f}), margin {:.2f} s, flood "
                    "{:.0f} kpps, {} generations meanwhile, seconds {:.2f}",
                    sorted.size(), sorted.front(), sorted.back(), sorted[sorted.size() / 2], margin,
                    rate / 1e3, gate.generation() - generation, fmt::join(sorted, " ")));
    EXPECT_LE(sorted.back(), bound_s + margin) << "where " << measured_max_s << " stands for longer\n"
                                               << gate.reasons();
    for (const std::string &host : {dotted(hosts.all().front()), dotted(hosts.all().back())})
      EXPECT_EQ(gate.verdict(host), "drop") << host;
    gate.feeder().flood(like, nullptr);
  }

private:
  // Sources that no list names and that the judge denies all the same.
  static std::vector<std::string> denied_in_error(const LiveGate &gate, const DeniedHosts &hosts,
                                                  Random &random, std::size_t wanted) {
    std::set<std::string> found;
    for (unsigned asked = 0; asked < 20'000 && found.size() < wanted; ++asked) {
      const std::string source = dotted(hosts.stranger(random));
      if (gate.verdict(source) == "drop") found.insert(source);
    }
    return {found.begin(), found.end()};
  }

  // By source, behind a first figure for one that nothing ever denied.
  static std::vector<double> times_until_relieved(LiveGate &gate, const std::vector<std::string> &wronged) {
    std::vector<std::string> sources{"8.8.4.4"};
    sources.insert(sources.end(), wronged.begin(), wronged.end());
    std::vector<test::Frame> frames;
    for (const std::string &source : sources)
      frames.push_back(
          test::FrameBuilder().ethernet().ipv4({.source = source}).udp(1024, 53).payload(18).frame());
    gate.feeder().steady(frames, packets_a_second);
    const auto all_seen = [&] {
      gate.passed().look();
      return std::ranges::all_of(sources, [&](const auto &s) { return gate.passed().first(s).has_value(); });
    };
    (void)test::wait_until(all_seen, std::chrono::milliseconds(static_cast<int>(measured_max_s * 1e3)));
    std::vector<double> took;
    for (const std::string &source : sources) {
      const auto first = gate.passed().first(source);
      took.push_back(first ? Seconds(*first - gate.feeder().steady_since()).count() : measured_max_s);
    }
    return took;
  }
};

} // namespace

TEST_F(Relief, comes_within_a_second_beside_a_flood_of_denied_hosts) { rounds("relief", round); }

} // namespace weir::attack::relief_test
