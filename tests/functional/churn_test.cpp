// The allow list is churned as fast as the control socket takes it, while packets come as fast as a ring
// port takes them, through a filter small enough to err, to overflow and to ask for another. Every
// source is allowed or denied for certain while it sends: no allowed packet may be dropped, not one, and
// no denied one may pass.
//
// Two seconds for each setting, and on a busy machine until enough has happened; WEIR_CHURN_SECONDS=300 for
// minutes.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/process.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

namespace weir::test::churn_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Bytes8 = std::vector<std::uint8_t>;

constexpr ListId allow_list = 0, deny_list = 1;
constexpr unsigned groups = 8, hosts_in_group = 120;
constexpr unsigned noise_hosts = 20'000;
constexpr unsigned batch_deltas = 2000;
constexpr unsigned rounds_min = 2 * groups;   // each group comes and goes
constexpr std::uint64_t packets_min = 10'000; // of each fate
constexpr auto patience = std::chrono::minutes(5);

std::chrono::seconds seconds_to_run() {
  const char *asked = std::getenv("WEIR_CHURN_SECONDS");
  return std::chrono::seconds(asked != nullptr ? std::max(1, std::atoi(asked)) : 2);
}

// A host of one of the nets below; every fourth is IPv6.
Address host_of(unsigned net, unsigned n) {
  if (n % 4 != 3) return Address::from_host(net << 16 | (n >> 8) << 8 | (n & 0xFF));
  Address a = parse_address("2001:db8::").value();
  a.bytes[5] = static_cast<std::uint8_t>(net >> 8);
  a.bytes[6] = static_cast<std::uint8_t>(net);
  a.bytes[14] = static_cast<std::uint8_t>(n >> 8);
  a.bytes[15] = static_cast<std::uint8_t>(n);
  return a;
}
Prefix prefix_of(const Address &a) { return {a, static_cast<std::uint8_t>(address_bits(a.family))}; }

constexpr unsigned steady_net = 0x0A01, prefix_net = 0x0A02, denied_net = 0x0A03, group_net = 0x0A10,
                   noise_net = 0x0A06, free_net = 0xAC10;

// What the frame says about itself: a destination port that tells what must become of it.
enum class Fate : std::uint8_t { pass = 1, drop = 2 };
Bytes8 frame_from(const Address &source, Fate fate) {
  FrameBuilder frame;
  frame.ethernet();
  if (source.family == Family::ipv4)
    frame.ipv4({.source = to_string(source)});
  else
    frame.ipv6({.source = to_string(source)});
  return frame.udp(1, static_cast<unsigned>(fate)).payload(16).frame().bytes;
}
bool must_drop(std::span<const std::uint8_t> frame) {
  const std::size_t ip = 14, udp = ip + (frame[12] == 0x08 ? 20 : 40);
  return frame[udp + 3] == static_cast<std::uint8_t>(Fate::drop);
}

struct Setting {
  Confirm confirm;
  test::AllowFilterKind filter;
};

// The rules as they should be, and images of them.
class Model {
public:
  explicit Model(Setting setting) : setting_(setting) {
    for (unsigned n = 0; n < 1000; ++n) allowed.insert(prefix_of(host_of(steady_net, n)));
    for (unsigned n = 0; n < 100; ++n) allowed.insert({Address::from_host(prefix_net << 16 | n << 8), 24});
    for (unsigned n = 0; n < 100; ++n) allowed.insert(prefix_of(host_of(free_net, n)));
    for (unsigned n = 0; n < noise_hosts; n += 2) allowed.insert(prefix_of(host_of(noise_net, n)));
    for (unsigned n = 0; n < 2000; ++n) denied_.push_back(prefix_of(host_of(denied_net, n)));
    for (unsigned n = 0; n < 500; ++n) denied_.push_back(prefix_of(host_of(steady_net, n)));
    denied_.push_back(parse_prefix("10.0.0.0/8").value());
    denied_.push_back(parse_prefix("2001:db8::/32").value());
  }

  std::set<Prefix> allowed;

  [[nodiscard]] std::vector<std::byte> image(std::uint64_t generation, std::uint64_t sequence) const {
    RuleSet rules;
    rules.policy.match = Match::source;
    rules.policy.confirm = setting_.confirm;
    rules.lists = {{"ops", Side::allow, {allowed.begin(), allowed.end()}}, {"bad", Side::deny, denied_}};
    ImageOptions options;
    if (setting_.filter == test::AllowFilterKind::cuckoo) {
      // Room for one more group, and 93 % of the slots then: most keys that come have to wait for
      // others.
      const auto keys = static_cast<std::uint32_t>(allowed.size()) + 150;
      options.guard = build::CuckooParams{keys, {keys * 100 / (4 * 93), 8}};
      return relabelled(TestImage(rules, options).bytes(), generation, sequence);
    }
    for (unsigned n = 0; n < 2000; ++n) options.guarded.push_back({prefix_of(host_of(denied_net, n))});
    if (setting_.filter == test::AllowFilterKind::stacked) // three cells a key, and counts up to three
      options.guard = build::StackedCountingParams{noise_hosts, {{2000, 2, 3}, {150, 1, 3}, {250, 2, 2}}};
    else
      options.guard = build::SeesawParams{.planned_keys = noise_hosts,
                                          .cell_words = 4000, // four cells a key, and counts up to three
                                          .modulator_words = 400,
                                          .hashes = 4};
    return relabelled(TestImage(rules, options).bytes(), generation, sequence);
  }

private:
  Setting setting_;
  std::vector<Prefix> denied_;
};

// Frames of every kind in random order, until told to stop.
class Flood {
public:
  enum class State : std::uint8_t { quiet, allowed, denied };
  // An allowed packet that a deny list matches as well, one that none matches, one of no list at all.
  enum class Why : std::uint8_t { saved, undenied, unlisted };

  Flood(RingGate &gate, std::uint64_t seed) : gate_(gate), random_(seed) {
    const auto passes = [&](const Address &host, Why why) {
      steady_.push_back({frame_from(host, Fate::pass), why});
    };
    for (unsigned n = 0; n < 1000; ++n) passes(host_of(steady_net, n), Why::saved);
    for (unsigned n = 0; n < 100; ++n) {
      passes(Address::from_host(prefix_net << 16 | n << 8 | (n * 7 % 256)), Why::saved);
      passes(host_of(free_net, n), n % 4 == 3 ? Why::saved : Why::undenied);
      passes(host_of(free_net + 1, 4 * n), Why::unlisted);
    }
    for (unsigned n = 0; n < 2000; ++n) denied_.push_back(frame_from(host_of(denied_net, n), Fate::drop));
    for (unsigned n = 0; n < 2000; ++n) denied_.push_back(frame_from(host_of(denied_net + 1, n), Fate::drop));
    for (unsigned g = 0; g < groups; ++g)
      for (unsigned n = 0; n < hosts_in_group; ++n) {
        const Address host = host_of(group_net + g, n);
        group_frames_[g][0].push_back(frame_from(host, Fate::pass));
        group_frames_[g][1].push_back(frame_from(host, Fate::drop));
      }
    thread_ = std::thread([this] { run(); });
  }
  ~Flood() { stop(); }
  Flood(const Flood &) = delete;
  Flood &operator=(const Flood &) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Afterwards nothing from the group is on its way any more.
  bool silence(unsigned group) {
    states_[group] = State::quiet;
    const std::uint64_t turn = turns_;
    if (!wait_until([&] { return turns_ > turn + 1; }, 30s)) return false;
    const std::uint64_t so_far = offered();
    return wait_until([&] { return gate_.judged() >= so_far; }, 30s);
  }
  void let_speak(unsigned group, State state) { states_[group] = state; }

  [[nodiscard]] std::uint64_t offered() const { return offered_pass + offered_drop; }
  void collect() {
    gate_.take(1,
               [&](std::span<const std::uint8_t> frame) { ++(must_drop(frame) ? wrongly_passed : passed); });
  }
  std::atomic<std::uint64_t> offered_pass{0}, offered_drop{0}, passed{0}, wrongly_passed{0};
  std::array<std::atomic<std::uint64_t>, 3> offered_why{}; // of offered_pass, by Why

private:
  void run() {
    for (; !stop_; ++turns_) {
      for (int i = 0; i < 128; ++i)
        if (!offer_one()) break;
      collect();
      std::this_thread::yield(); // CPUs may be fewer than threads
    }
  }
  template <class Frames> [[nodiscard]] const auto &any(const Frames &frames) {
    return frames[random_.below(static_cast<std::uint32_t>(frames.size()))];
  }
  bool offer_one() {
    const unsigned kind = random_.below(4), group = random_.below(groups);
    if (kind == 0) {
      const auto &[frame, why] = any(steady_);
      return offer_passing(frame, why);
    }
    if (kind == 1) return offer_dropping(any(denied_));
    switch (states_[group].load()) {
    case State::allowed: return offer_passing(any(group_frames_[group][0]), Why::saved);
    case State::denied: return offer_dropping(any(group_frames_[group][1]));
    case State::quiet: break;
    }
    return true;
  }
  bool offer_passing(const Bytes8 &frame, Why why) {
    const bool taken = gate_.offer(0, frame);
    offered_pass += taken;
    offered_why[static_cast<std::size_t>(why)] += taken;
    return taken;
  }
  bool offer_dropping(const Bytes8 &frame) {
    const bool taken = gate_.offer(0, frame);
    offered_drop += taken;
    return taken;
  }

  RingGate &gate_;
  Random random_;
  std::vector<std::pair<Bytes8, Why>> steady_;
  std::vector<Bytes8> denied_;
  std::array<std::array<std::vector<Bytes8>, 2>, groups> group_frames_;
  std::array<std::atomic<State>, groups> states_{};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Control's side of it: deltas and swaps, each acknowledged before the next.
class Churn {
public:
  Churn(RingGate &gate, Setting setting, std::uint64_t seed)
      : control_(gate.socket()), model_(setting), random_(seed) {}

  void swap() {
    const WireMessage staged = control_.stage(model_.image(++generation_, sequence_));
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control_.commit(generation_, sequence_);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }

  // All hosts of a group at once, among random others.
  void turn(unsigned group, bool allow) {
    std::vector<image::Delta> batch;
    for (unsigned n = 0; n < hosts_in_group; ++n) add(batch, prefix_of(host_of(group_net + group, n)), allow);
    noise(batch);
    send(batch);
  }
  void noise() {
    std::vector<image::Delta> batch;
    noise(batch);
    send(batch);
  }

  std::uint64_t deltas = 0, swaps_for_strain = 0, swaps_for_room = 0;
  [[nodiscard]] std::uint64_t swaps() const { return generation_; }

private:
  void noise(std::vector<image::Delta> &batch) {
    while (batch.size() < batch_deltas) {
      const Prefix p = prefix_of(host_of(noise_net, random_.below(noise_hosts)));
      add(batch, p, model_.allowed.contains(p) ? random_.one_in(16) : !random_.one_in(16)); // some twice
    }
  }
  void add(std::vector<image::Delta> &batch, const Prefix &p, bool allow) {
    image::Delta d;
    d.op = allow ? image::DeltaOp::set : image::DeltaOp::unset;
    d.side = Side::allow;
    d.family = p.family();
    d.length = p.length;
    d.list = random_.one_in(4) ? deny_list : allow_list; // a present key may change its list
    d.address = p.address.bytes;
    batch.push_back(d);
    if (allow)
      model_.allowed.insert(p);
    else
      model_.allowed.erase(p);
  }
  void send(const std::vector<image::Delta> &batch) {
    const WireMessage answer = control_.deltas(wire::Target::live, sequence_ + 1, batch);
    const bool no_room = answer.is(wire::Type::refused) &&
                         answer.as<wire::Refused>().code == static_cast<std::uint32_t>(Errc::needs_rebuild);
    ASSERT_TRUE(no_room || answer.is(wire::Type::applied)) << answer.refusal();
    sequence_ += batch.size();
    deltas += batch.size();
    const bool saturated = !no_room && answer.as<wire::Applied>().filter_saturated != 0;
    swaps_for_strain += saturated;
    swaps_for_room += no_room;
    if (no_room || saturated) swap();
  }

  DataplaneClient control_;
  Model model_;
  Random random_;
  std::uint64_t generation_ = 0, sequence_ = 0;
};

class AllowChurn : public testing::TestWithParam<Setting> {};

TEST_P(AllowChurn, at_full_rate_drops_no_allowed_packet_and_passes_no_denied_one) {
  const std::uint64_t seed = seed_or(5005);
  WEIR_TRACE_SEED(seed);
  ASSERT_TRUE(start_eal());
  RingGate gate;
  Churn churn(gate, GetParam(), seed);
  churn.swap();
  Flood flood(gate, seed);
  for (unsigned g = 0; g < groups; ++g) flood.let_speak(g, Flood::State::denied);

  const auto &counters = gate.dataplane().counters.worker(0);
  const auto begin = Clock::now();
  unsigned rounds = 0;
  const auto enough = [&] {
    return rounds >= rounds_min && flood.passed > packets_min && flood.offered_drop > packets_min &&
           churn.swaps_for_strain > 0 && counters[dataplane::CounterId::allow_false].get() > 0;
  };
  const auto go_on = [&] {
    const auto past = Clock::now() - begin;
    return past < seconds_to_run() || (!enough() && past < patience);
  };
  std::array<bool, groups> allowed{};
  for (; go_on() && !HasFatalFailure() && flood.wrongly_passed == 0; ++rounds) {
    const unsigned group = rounds % groups;
    ASSERT_TRUE(flood.silence(group)) << "packets do not come through any more";
    churn.turn(group, allowed[group] = !allowed[group]);
    flood.let_speak(group, allowed[group] ? Flood::State::allowed : Flood::State::denied);
    for (int i = 0; i < 3 && !HasFatalFailure(); ++i) churn.noise();
  }
  flood.stop();
  ASSERT_TRUE(wait_until([&] { return gate.judged() >= flood.offered(); }, 30s))
      << flood.offered() - gate.judged() << " packets were lost";
  flood.collect();

  const auto left_by = [&](Reason reason, Verdict verdict) {
    const auto &families =
        counters.verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)];
    return families[0].get() + families[1].get();
  };
  const auto offered = [&](Flood::Why why) {
    return flood.offered_why[static_cast<std::size_t>(why)].load();
  };
  const bool exact = GetParam().confirm == Confirm::exact;
  EXPECT_EQ(flood.passed, flood.offered_pass) << "allowed packets were dropped";
  EXPECT_EQ(flood.wrongly_passed, 0u) << "denied packets passed";
  EXPECT_EQ(left_by(Reason::deny, Verdict::drop), flood.offered_drop);
  EXPECT_EQ(left_by(Reason::allow, Verdict::pass),
            offered(Flood::Why::saved) + (exact ? offered(Flood::Why::undenied) : 0))
      << "under on_conflict `allow` counts what the list saved";
  EXPECT_GT(counters[dataplane::CounterId::allow_false].get(), 0u)
      << "the filter never erred: nothing was confirmed in a table";
  EXPECT_LT(counters[dataplane::CounterId::allow_accepted].get(),
            counters[dataplane::CounterId::allow_asked].get());
  EXPECT_GT(counters[dataplane::CounterId::allow_denied_asked].get(), 0u);
  EXPECT_EQ(gate.judged(), flood.offered());
  EXPECT_GT(flood.passed, packets_min);
  EXPECT_GT(flood.offered_drop, packets_min);
  EXPECT_GE(rounds, rounds_min) << "no group came and went";
  EXPECT_GT(churn.swaps_for_strain, 0u) << "the filter never was saturated: it is too large for this test";
  std::printf("%llu packets, %llu changes, %llu images, %llu of them for the filter, %u groups turned\n",
              static_cast<unsigned long long>(gate.judged()), static_cast<unsigned long long>(churn.deltas),
              static_cast<unsigned long long>(churn.swaps()),
              static_cast<unsigned long long>(churn.swaps_for_strain), rounds);
}

INSTANTIATE_TEST_SUITE_P(Settings, AllowChurn,
                         testing::Values(Setting{Confirm::exact, test::AllowFilterKind::seesaw},
                                         Setting{Confirm::on_conflict, test::AllowFilterKind::seesaw},
                                         Setting{Confirm::exact, test::AllowFilterKind::cuckoo},
                                         Setting{Confirm::on_conflict, test::AllowFilterKind::cuckoo},
                                         Setting{Confirm::exact, test::AllowFilterKind::stacked},
                                         Setting{Confirm::on_conflict, test::AllowFilterKind::stacked}),
                         [](const auto &setting) {
                           return std::string(name_of(setting.param.confirm)) + "_" +
                                  std::string(test::name_of(setting.param.filter));
                         });

} // namespace
} // namespace weir::test::churn_test
