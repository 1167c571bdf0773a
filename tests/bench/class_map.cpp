// Compact mode with and without the class map that names lists, through the real worker on a ring port: four deny lists of 1.8M,
// 200k, 50k and 1k hosts, a judge of one Bloom layer, and one packet in ten or every packet denied. A packet that the judge
// denies is asked once more for its list; the others pay nothing.
#include "tests/bench/rig.hpp"
#include "weir/build/class_map_builder.hpp"
#include "weir/build/deny_filter_builder.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace weir::bench {
namespace {

constexpr std::array<std::uint32_t, 4> list_hosts{1'800'000, 200'000, 50'000, 1'000};
constexpr std::uint32_t hosts = 2'051'000;

enum Contender : std::size_t { without, with_map, plain_loop, contenders };
constexpr const char *names[contenders] = {"compact", "compact, class map", "plain loop"};

std::vector<build::EntryV4> entries_of_lists() {
  std::vector<build::EntryV4> entries = make_entries(hosts); // in the order of addresses, which are scrambled
  std::uint64_t left = hosts;
  std::array<std::uint64_t, 4> open{list_hosts[0], list_hosts[1], list_hosts[2], list_hosts[3]};
  for (build::EntryV4 &entry : entries) {
    std::uint64_t draw = remix({entry.host}, 5) % left--;
    std::uint16_t list = 0;
    while (draw >= open[list]) draw -= open[list++];
    --open[list];
    entry.list = ListId(list);
  }
  return entries;
}

struct Built {
  std::unique_ptr<dataplane::AttachedImage> image;
  std::uint64_t bytes = 0, map_bytes = 0;
};

Built build_compact(std::span<const build::EntryV4> entries, bool named,
                    const dataplane::AttachContext &context) {
  build::BuildInput input;
  for (std::uint16_t list = 0; list < list_hosts.size(); ++list)
    input.lists.push_back({.name = fmt::format("list {}", list), .number = ListId(list), .side = Side::deny});
  input.deny.v4 = entries;
  input.identity.generation = 1;
  input.seed = 0x5EED;
  build::DenyFilterSizes plan{.role = image::DenyFilterRole::judge, .layers = {}, .known = {}, .spared = {}};
  plan.layers.push_back({.keys = 1, .bits = 20});
  const auto judge = build::build_deny_filter(input.deny, plan, input.seed);
  if (!judge) give_up(judge.error().message);
  input.deny_filter = judge->input();
  std::vector<std::byte> map;
  if (named) {
    auto built = build::build_class_map(input.deny, input.seed);
    if (!built) give_up(built.error().message);
    map = std::move(*built);
    input.deny_filter.class_map = map;
  }
  Built out{.image = nullptr, .bytes = build::image_bytes(input), .map_bytes = map.size()};
  Region region(out.bytes);
  if (const auto report = build::build_image(input, region.bytes()); !report) give_up(report.error().message);
  out.image = attached_copy(region.bytes(), Generation(named ? 2u : 1u), context);
  return out;
}

using Samples = std::array<std::vector<double>, contenders>;

Samples compete(Rig &rig, std::array<Built, 2> &images, std::span<const std::uint32_t> sources,
                double hit_percent, unsigned rounds) {
  const std::size_t round_packets = sources.size() / 8;
  Samples samples;
  dataplane::Worker worker(rig.setup(0), rig.slot(), rig.counters());
  PlainLoop plain(rig, 0, nullptr, hit_percent / 100, *images[0].image);
  for (unsigned round = 0; round <= rounds; ++round) { // round 0 warms up
    const auto addresses = sources.subspan(round % 8 * round_packets, round_packets);
    const auto run = [&](auto &loop) {
      return rig.run(addresses, round_packets,
                     [&](unsigned, const std::atomic<bool> &stop) { loop.run(stop); });
    };
    Rig::Run runs[contenders];
    for (const Contender c : {without, with_map}) {
      rig.publish(std::move(images[c].image));
      runs[c] = run(worker);
      images[c].image = rig.publish(nullptr);
    }
    runs[plain_loop] = run(plain);
    if (round > 0)
      for (std::size_t i = 0; i < contenders; ++i) samples[i].push_back(runs[i].mpps);
  }
  return samples;
}

void bench_class_map(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "class_map");
  Grid grid{{"denied", names[without], names[with_map], names[plain_loop], "with / without", "bits a host"},
            {}};
  Rig rig(1);
  dataplane::ListSlots lists;
  const dataplane::AttachContext context{1, &lists, [] {}};
  const auto entries = entries_of_lists();
  std::array<Built, 2> images{build_compact(entries, false, context), build_compact(entries, true, context)};
  const double bits = 8.0 * static_cast<double>(images[1].map_bytes) / hosts;
  for (const double hit_percent : {10.0, 100.0}) {
    const auto sources = make_queries(hosts, hit_percent, options.quick ? 1u << 22 : 1u << 24, 77);
    const Samples samples = compete(rig, images, sources, hit_percent, options.rounds());
    const Figure ratio = ratio_of(samples[with_map], samples[without]);
    grid.rows.push_back({fmt::format("{:g} %", hit_percent), with_spread(figure_of(samples[without])),
                         with_spread(figure_of(samples[with_map])),
                         with_spread(figure_of(samples[plain_loop])), with_spread(ratio),
                         short_number(bits)});
    for (std::size_t i = 0; i < contenders; ++i)
      lines.line({{"bench", "class_map"},
                  {"contender", names[i]},
                  {"hit_percent", hit_percent},
                  {"mpps", figure_of(samples[i]).median},
                  {"bits_per_host", i == with_map ? bits : 0}});
    standings.push_back(
        standing(fmt::format("class map, packet path with / without, {:g} % denied", hit_percent),
                 hit_percent == 10 ? 0.9 : 0.5, hit_percent == 10 ? 0.95 : 0.7, ratio));
  }
  show(options, "class_map",
       "compact mode with lists named, 2.05M hosts of four lists, one worker, million packets a second",
       grid);
}

const Benchmark class_map_benchmark{50, "class_map", bench_class_map};

} // namespace
} // namespace weir::bench
