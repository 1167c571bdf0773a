// What the form of packets does to a worker: a seeded search for the mixture of packets that costs most,
// beside plain IPv4 packets, through the real worker on a ring port (gate.hpp).
//
// Each form is measured alone; then mixtures of two to four forms are drawn, and the worst of all takes
// turns with plain packets for the figure. Every packet gets four new bytes of its source each turn, so
// tables are asked about new addresses. WEIR_SEED repeats another search. What looking into tunnels costs
// plain packets, and packets that carry something, stands beneath, beside plain packets under `outer`.
#include "tests/bench/gate.hpp"
#include "tests/support/seed.hpp"

#include "dataplane/packet/samples.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

struct Form {
  const char *name;
  LoopFrame frame;
};

using Octets = std::vector<std::uint8_t>;

constexpr std::size_t frame_bytes = 128;

LoopFrame framed(const Octets &tags, std::uint16_t ethertype, const Octets &payload, std::size_t written_at) {
  LoopFrame frame{{0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2}, 0};
  frame.bytes.insert(frame.bytes.end(), tags.begin(), tags.end());
  frame.bytes.push_back(static_cast<std::uint8_t>(ethertype >> 8));
  frame.bytes.push_back(static_cast<std::uint8_t>(ethertype));
  frame.written_at = static_cast<std::uint32_t>(frame.bytes.size() + written_at);
  frame.bytes.insert(frame.bytes.end(), payload.begin(), payload.end());
  frame.bytes.resize(std::max(frame.bytes.size(), frame_bytes));
  return frame;
}

Octets tags(unsigned count, std::uint8_t vlan) {
  Octets octets;
  for (unsigned i = 0; i < count; ++i) octets.insert(octets.end(), {0x81, 0x00, 0x00, vlan});
  return octets;
}

Octets ipv4(std::uint8_t words, std::uint8_t fragment) {
  Octets octets{static_cast<std::uint8_t>(0x40 | words),
                0,
                0,
                100,
                0,
                0,
                0,
                fragment,
                64,
                17,
                0,
                0,
                192,
                0,
                2,
                1,
                198,
                51,
                100,
                1};
  octets.resize(std::size_t{4} * words, 1); // options of nothing
  octets.insert(octets.end(), {0x04, 0, 0, 53, 0, 26, 0, 0});
  return octets;
}

Octets ipv6(std::uint8_t next, std::uint8_t hops, const Octets &behind) {
  Octets octets{0x60, 0, 0, 0, 0, 48, next, hops};
  for (const std::uint8_t host : {1, 2}) {
    octets.insert(octets.end(), {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    octets.push_back(host);
  }
  octets.insert(octets.end(), behind.begin(), behind.end());
  return octets;
}

std::vector<Form> forms() {
  constexpr std::size_t v4_source = 12, v6_source = 8 + 8;
  const Octets snap_header{0xAA, 0xAA, 0x03, 0, 0, 0, 0x08, 0x00};
  Octets snap = snap_header;
  const Octets inner = ipv4(5, 0);
  snap.insert(snap.end(), inner.begin(), inner.end());
  return {
      {"IPv4, plain", plain_frame()},
      {"IPv4, options", framed({}, 0x0800, ipv4(15, 0), v4_source)},
      {"IPv4, fragment", framed({}, 0x0800, ipv4(5, 7), v4_source)},
      {"IPv4, one tag", framed(tags(1, 5), 0x0800, ipv4(5, 0), v4_source)},
      {"IPv4, eight tags", framed(tags(8, 0), 0x0800, ipv4(5, 0), v4_source)},
      {"IPv4 behind SNAP", framed({}, 0x0030, snap, snap_header.size() + v4_source)},
      {"IPv6, plain", framed({}, 0x86DD, ipv6(17, 64, {0x04, 0, 0, 53}), v6_source)},
      {"IPv6, extension headers", framed({}, 0x86DD, ipv6(0, 64, {60, 0, 1, 4, 0, 0, 0, 0, 17}), v6_source)},
      {"IPv6, fragment", framed({}, 0x86DD, ipv6(44, 64, {17, 0, 0, 9, 0, 0, 0, 1}), v6_source)},
      {"IPv6, discovery between hosts", framed({}, 0x86DD, ipv6(58, 255, {135, 0}), v6_source)},
      {"IPv6, one tag", framed(tags(1, 5), 0x86DD, ipv6(17, 64, {}), v6_source)},
      {"IPv6, two tags", framed(tags(2, 5), 0x86DD, ipv6(17, 64, {}), v6_source)},
      {"IPv6, eight tags", framed(tags(8, 0), 0x86DD, ipv6(17, 64, {}), v6_source)},
      {"ARP", framed({}, 0x0806, {0, 1, 8, 0, 6, 4, 0, 1}, 14)},
      {"nine tags", framed(tags(9, 0), 0x0800, ipv4(5, 0), v4_source)},
      {"a version that lies", framed({}, 0x0800, ipv6(17, 64, {}), v6_source)},
  };
}

// Packets that carry others, whose source is written to.
std::vector<Form> tunnel_forms() {
  const Octets inner = ipv4(5, 0);
  const auto carrying = [&](std::uint8_t protocol, const Octets &header) {
    Octets octets = ipv4(5, 0);
    octets[9] = protocol;
    octets.resize(20);
    octets.insert(octets.end(), header.begin(), header.end());
    octets.insert(octets.end(), inner.begin(), inner.end());
    return framed({}, 0x0800, octets, 20 + header.size() + 12);
  };
  const LoopFrame ethernet = framed({}, 0x0800, {}, 0);
  Octets vxlan{0x04, 0, 0x12, 0xB5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 77, 0}; // UDP to port 4789, and VXLAN
  vxlan.insert(vxlan.end(), ethernet.bytes.begin(), ethernet.bytes.begin() + 14);
  return {{"IPv4, plain", plain_frame()},
          {"IPv4 in IPv4", carrying(4, {})},
          {"IPv4 in GRE with a key", carrying(47, {0x20, 0, 0x08, 0, 0, 0, 0, 1})},
          {"IPv4 in VXLAN", carrying(17, vxlan)}};
}

// One worker with a port of these packets.
class Gate {
public:
  Gate(const std::vector<LoopFrame> &frames, const Image &image, Tunnels tunnels = Tunnels::outer)
      : counters_(1), slot_(1), port_(frames) {
    auto rings = dataplane::SampleRings::create(1);
    if (!rings) give_up(rings.error().message);
    samples_ = std::move(*rings);
    auto attached = attached_copy(image, 1, {1, &lists_, [] {}});
    attached->view.policy.tunnels = tunnels;
    (void)slot_.publish(std::move(attached));
    dataplane::WorkerSetup setup;
    setup.queues = {port_.way()};
    setup.denied = port_.ring();
    setup.samples = samples_.of(0);
    worker_ = std::make_unique<dataplane::Worker>(setup, slot_, counters_);
  }

  double ns_a_packet(std::span<const std::uint32_t> sources, std::uint64_t packets) {
    std::atomic<bool> stop{false};
    port_.feed(sources, packets, &stop);
    const double start = cpu_ns();
    worker_->run(stop);
    const double ns = (cpu_ns() - start) / static_cast<double>(packets);
    throw_away(samples_);
    if (port_.packets_present() != loop_packets) give_up("packets were lost in a loop");
    return ns;
  }

private:
  dataplane::ListSlots lists_;
  dataplane::Counters counters_;
  dataplane::ImageSlot slot_;
  dataplane::SampleRings samples_;
  LoopPort port_;
  std::unique_ptr<dataplane::Worker> worker_;
};

class Search {
public:
  explicit Search(std::uint64_t seed)
      : random_(seed), forms_(forms()), image_(make_image()), sources_(1u << 20),
        plain_({plain_frame()}, image_) {
    for (std::uint32_t &source : sources_) source = static_cast<std::uint32_t>(random_());
  }

  // A mixture's time over that of plain packets, round by round.
  Figure ratio(const std::vector<std::size_t> &mixture, unsigned rounds, std::uint64_t packets) {
    std::vector<LoopFrame> frames;
    for (const std::size_t form : mixture) frames.push_back(forms_[form].frame);
    return ratio(frames, Tunnels::outer, rounds, packets);
  }

  Figure ratio(const std::vector<LoopFrame> &frames, Tunnels tunnels, unsigned rounds,
               std::uint64_t packets) {
    Gate gate(frames, image_, tunnels);
    std::vector<double> ours, plain;
    for (unsigned round = 0; round <= rounds; ++round) {
      const double a = plain_.ns_a_packet(sources_, packets), b = gate.ns_a_packet(sources_, packets);
      if (round > 0) plain.push_back(a), ours.push_back(b);
    }
    return ratio_of(ours, plain);
  }

  [[nodiscard]] std::vector<std::size_t> drawn() {
    std::vector<std::size_t> mixture(2 + random_() % 3);
    for (std::size_t &form : mixture) form = random_() % forms_.size();
    return mixture;
  }
  [[nodiscard]] std::string name_of(const std::vector<std::size_t> &mixture) const {
    std::string text;
    for (const std::size_t form : mixture)
      text += (text.empty() ? "" : " + ") + std::string(forms_[form].name);
    return text;
  }
  [[nodiscard]] std::size_t forms_count() const { return forms_.size(); }
  [[nodiscard]] std::size_t place_of(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(forms_, name, &Form::name) - forms_.begin());
  }

private:
  // Hosts of both families, and prefixes of some lengths.
  static Image make_image() {
    auto v4 = make_entries(10'000);
    auto v6 = make_entries_v6(10'000);
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const std::uint32_t host = byteswap32(scrambled_address(20'000 + i));
      v4.push_back({host & 0xFFFFFF00, 24, 0, 0});
      const WireV6 address = address_at<WireV6>(20'000 + i);
      for (const std::uint8_t length : {32, 48, 64})
        v6.push_back({masked(Address::from_v6(address.data()), length).bytes, length, 0, 0});
    }
    const auto finish = [](auto &entries) {
      std::ranges::sort(entries);
      const auto again = std::ranges::unique(entries);
      entries.erase(again.begin(), again.end());
    };
    finish(v4);
    finish(v6);
    return {v4, v6, false};
  }

  std::mt19937_64 random_;
  std::vector<Form> forms_;
  Image image_;
  std::vector<std::uint32_t> sources_;
  Gate plain_;
};

void bench_worst_packet(const Options &options, std::vector<Standing> &standings) {
  const std::uint64_t seed = test::seed_or(1);
  Search search(seed);
  JsonLines json(options, "worst_packet");
  Grid grid{{"packets", "/ plain IPv4"}, {}};
  const std::uint64_t few = 1u << 17, many = options.quick ? 1u << 19 : 1u << 21;
  std::vector<std::size_t> worst;
  double slowest = 0;
  const auto look = [&](const std::vector<std::size_t> &mixture, bool shown) {
    const Figure figure = search.ratio(mixture, 3, few);
    if (shown) grid.rows.push_back({search.name_of(mixture), with_spread(figure)});
    if (figure.median > slowest) worst = mixture, slowest = figure.median;
  };
  for (std::size_t form = 0; form < search.forms_count(); ++form) look({form}, true);
  look({search.place_of("IPv4, plain"), search.place_of("IPv6, plain")}, true); // as on most links
  for (unsigned trial = 0; trial < (options.quick ? 24u : 96u); ++trial) look(search.drawn(), false);
  const Figure figure = search.ratio(worst, options.rounds(), many);
  grid.rows.push_back({"worst: " + search.name_of(worst), with_spread(figure)});
  json.line({{"bench", "worst_packet"},
             {"packets", search.name_of(worst)},
             {"seed", seed},
             {"ratio", figure.median},
             {"spread_percent", figure.spread_percent}});
  for (const Tunnels tunnels : {Tunnels::inner, Tunnels::both})
    for (const Form &form : tunnel_forms()) {
      const Figure of = search.ratio({form.frame}, tunnels, options.rounds(), many);
      grid.rows.push_back({fmt::format("{}, tunnels: {}", form.name, name_of(tunnels)), with_spread(of)});
      json.line({{"bench", "worst_packet"},
                 {"packets", std::string(form.name)},
                 {"tunnels", std::string(name_of(tunnels))},
                 {"ratio", of.median},
                 {"spread_percent", of.spread_percent}});
    }
  show(options, "worst_packet",
       fmt::format("a packet's time in the worker by its form, beside plain IPv4 packets, seed {}", seed),
       grid);
  standings.push_back(standing("worst packet / plain IPv4 packet", 6, 1.5, figure, true));
}

const Benchmark worst_packet_benchmark{51, "worst_packet", bench_worst_packet};

} // namespace
} // namespace weir::bench
