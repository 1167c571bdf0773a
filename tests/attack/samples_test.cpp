// Every packet of a flood is a sample, and about each control asks its lists for prefixes of all lengths.
// Whoever watches the gate and changes its lists must not feel it, and what a command says of the time it
// took must be true.
#include "tests/attack/live_gate.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace weir::attack::samples_test {

namespace {

constexpr double add_max_s = 0.5, status_max_s = 0.25;
constexpr double at_worst = 2;    // times that
constexpr double client_s = 0.05; // of its own: connecting, and reading the answer
constexpr std::chrono::seconds during(8);
constexpr std::uint32_t hosts_each = 10'000;
constexpr unsigned shared_bits = 96;  // by all hosts
constexpr std::size_t source_at = 22; // of an untagged IPv6 frame

using Bytes16 = std::array<std::uint8_t, 16>;

// Lists of denied IPv6 hosts close together, with nets of every length beside them, so that all lengths are
// in use around a host and no net holds it.
struct Lists {
  std::string yaml;
  std::vector<Bytes16> hosts;

  Lists(Random &random, unsigned count, const std::filesystem::path &folder) {
    std::vector<std::string> texts(count);
    Bytes16 base{0x20, 0x01, 0x0D, 0xB8};
    for (std::size_t i = 4; i < 8; ++i) base[i] = static_cast<std::uint8_t>(random.bits());
    for (unsigned length = 17; length <= 128; ++length) {
      Bytes16 net = stranger(base, random);
      const unsigned apart = std::min(length, shared_bits) - 1;
      net[apart / 8] ^= static_cast<std::uint8_t>(0x80 >> apart % 8);
      const Prefix prefix{masked(Address::from_v6(net.data()), length), static_cast<std::uint8_t>(length)};
      texts[length % count] += to_string(prefix) + '\n';
    }
    for (std::string &text : texts)
      for (std::uint32_t i = 0; i < hosts_each; ++i) {
        hosts.push_back(stranger(base, random));
        text += to_string(Address::from_v6(hosts.back().data())) + '\n';
      }
    for (unsigned i = 0; i < count; ++i) {
      test::write_text(folder / fmt::format("list{}.txt", i), texts[i]);
      yaml += fmt::format("- {{name: list{0}, action: deny, file: list{0}.txt}}\n", i);
    }
  }
  // Another one in the same net, so that nobody can know them all.
  static Bytes16 stranger(Bytes16 host, Random &random) {
    for (std::size_t i = shared_bits / 8; i < 16; ++i) host[i] = static_cast<std::uint8_t>(random.bits());
    return host;
  }
};

// Seconds. The worst of some hundreds is that of a process that waited for a turn on a machine with work for more
// than its cores; what control makes everybody wait for is in most.
class Times {
public:
  void took(double seconds) { all_.insert(std::ranges::upper_bound(all_, seconds), seconds); }
  [[nodiscard]] double most() const { return all_.empty() ? 0 : all_[all_.size() * 19 / 20]; }
  [[nodiscard]] double worst() const { return all_.empty() ? 0 : all_.back(); }
  [[nodiscard]] std::size_t count() const { return all_.size(); }

private:
  std::vector<double> all_;
};

std::string text_of(const Times &times) {
  return fmt::format("{:.3f} s ({:.3f} s at worst)", times.most(), times.worst());
}

struct Asked {
  Times add, status, untold; // untold: of an addition's time, what its answer leaves out
};

class Samples : public Attack {
protected:
  static void round(Random &random) {
    const unsigned count = 3 + random.below(10);
    test::TempDir files;
    const Lists lists(random, count, files.path());
    const std::string more = compact_mode(lists.hosts.size(), 3) + "samples: {rate: 1/1}\n";
    LiveGate gate(lists.yaml + "- {name: bans, action: deny, dynamic: true}\n", more, false);
    for (unsigned i = 0; i < count; ++i) {
      const std::string name = fmt::format("list{}.txt", i);
      std::filesystem::copy(files / name, gate.pair().folder() / name);
    }
    gate.start();
    if (HasFailure()) return;

    const test::Frame like = test::FrameBuilder().ethernet().ipv6().udp(1024, 53).payload(18).frame();
    gate.feeder().flood(like, [&lists, choice = Random(random.bits())](std::uint8_t *frame) mutable {
      const auto number = choice.below(static_cast<std::uint32_t>(lists.hosts.size()));
      const Bytes16 &host = lists.hosts[number];
      std::ranges::copy(choice.one_in(8) ? host : Lists::stranger(host, choice), frame + source_at);
    });
    const Lateness lateness;
    const SyncedWrites disk(files.path());
    const auto written = gate.feeder().written();
    const Asked asked = ask_for(gate, during);
    const double kpps =
        static_cast<double>(gate.feeder().written() - written) / 1e3 / Seconds(during).count();
    // Client, control and dataplane each wait for a turn on a busy machine, and an addition for the disk: the
    // group of changes that it joins waits while the one before is written.
    const double margin = 3 * lateness.worst_s(), written_s = 2 * disk.worst_s();
    say(fmt::format(
        "samples: {} of each, in 95 % list add {}, status {}, untold {}, {} lists, flood {:.0f} kpps, "
        "margin {:.3f} s, disk {:.3f} s",
        asked.add.count(), text_of(asked.add), text_of(asked.status), text_of(asked.untold), count, kpps,
        margin, written_s));
    EXPECT_GT(kpps, 10) << "no flood";
    EXPECT_LE(asked.add.most(), add_max_s + margin + written_s);
    EXPECT_LE(asked.status.most(), status_max_s + margin);
    EXPECT_LE(asked.untold.most(), client_s + margin)
        << "the time that an addition names is not what it took";
    EXPECT_LE(asked.add.worst(), at_worst * add_max_s + margin + written_s);
    EXPECT_LE(asked.status.worst(), at_worst * status_max_s + margin);
    EXPECT_LE(asked.untold.worst(), status_max_s + margin);
    gate.feeder().flood(like, nullptr);
  }

private:
  static Asked ask_for(const LiveGate &gate, Seconds time) {
    Asked asked;
    const auto begin = Clock::now();
    while (Clock::now() - begin < time && !HasFailure()) {
      const auto number = static_cast<std::uint32_t>(asked.add.count());
      const Json entry = {{"prefix", dotted(0x0B000000 + number)}};
      const auto added =
          gate.ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", Json::array({entry})}});
      asked.add.took(added.seconds);
      EXPECT_TRUE(added.json().value("in_force", false)) << added.json().dump();
      asked.untold.took(added.seconds - added.json().value("in_force_ms", 0.0) / 1e3);
      asked.status.took(gate.ask({{"verb", "status"}}).seconds);
    }
    return asked;
  }
};

} // namespace

TEST_F(Samples, of_every_packet_leave_control_time_for_those_who_ask) { rounds("samples", round); }

} // namespace weir::attack::samples_test
