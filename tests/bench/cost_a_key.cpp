// What a host costs as tables grow, from a thousand to 256 million of them: bytes of the image, time to build and to
// ask every key once, and a lookup that finds its key, one core.
#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"
#include "weir/base/memory_free.hpp"

#include <fmt/core.h>

namespace weir::bench {
namespace {

// At the highest: sorted entries, the image, and what overfull lines give up.
constexpr std::uint64_t bytes_a_key = 24;

struct Cost {
  double image_bytes = 0, build_ns = 0, verify_ns = 0;
  Figure lookup_ns;
  bool hugepages = false;
};

Cost cost_at(const Options &options, std::uint32_t keys) {
  Cost cost;
  const auto entries = make_entries(keys);
  const Image image(entries, {}, false);
  const double n = keys;
  cost.image_bytes = static_cast<double>(image.report().image_bytes) / n;
  cost.build_ns = image.report().build_ms * 1e6 / n;
  cost.verify_ns = image.report().verify_ms * 1e6 / n;
  cost.hugepages = image.region().hugepages();
  WeirLookup lookup(image.view());
  const auto queries = make_rounds<WireV4>(options, keys, 100);
  const auto outcomes = compete({{"weir", [&](unsigned r) { return lookup.run(queries.of(r)); }}},
                                queries.a_round, options.rounds(), [&](unsigned r) { touch(queries.of(r)); });
  cost.lookup_ns = {1e3 / outcomes[0].figure.median, outcomes[0].figure.spread_percent};
  return cost;
}

void bench_cost(const Options &options, std::vector<Standing> &) {
  JsonLines lines(options, "cost");
  Grid grid{{"IPv4 hosts", "bytes of image a host", "ns to build a host", "ns to ask it once", "ns a lookup",
             "pages"},
            {}};
  for (const std::uint32_t keys :
       {1'000u, 10'000u, 100'000u, 1'000'000u, 10'000'000u, 64'000'000u, 256'000'000u}) {
    if (options.quick && keys > 10'000'000) continue;
    const auto memory = memory_free();
    if (!memory || memory->ordinary_bytes() < keys * bytes_a_key) {
      fmt::print("\n{} keys are not measured: that takes {} MiB of memory\n", count_words(keys),
                 keys * bytes_a_key >> 20);
      continue;
    }
    const Cost cost = cost_at(options, keys);
    grid.rows.push_back({count_words(keys), fmt::format("{:.2f}", cost.image_bytes),
                         fmt::format("{:.0f}", cost.build_ns), fmt::format("{:.0f}", cost.verify_ns),
                         with_spread(cost.lookup_ns), cost.hugepages ? "2 MiB" : "4 KiB"});
    for (const auto &[what, value] :
         {std::pair("bytes of image a host", cost.image_bytes),
          std::pair("ns to build a host", cost.build_ns), std::pair("ns to ask it once", cost.verify_ns),
          std::pair("ns a lookup that hits", cost.lookup_ns.median)})
      lines.line({{"bench", "cost"}, {"keys", std::uint64_t{keys}}, {"cost", what}, {"value", value}});
  }
  show(options, "cost", "what an IPv4 host costs, one list of hosts", grid);
}

const Benchmark cost_benchmark{21, "cost", bench_cost};

} // namespace
} // namespace weir::bench
