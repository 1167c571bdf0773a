// Swapping an image of 64 MiB under the real worker at its ring port's full rate.
//
//   swap            from the moment the pointer changes until the worker has reported that it holds the
//                   old image no longer, as the service thread measures it (Generations); each image is a
//                   fresh memory file, sealed, verified and mapped before, the old one unmapped after
//   handed over     two images take turns in the slot without being made anew: the rest of the
//                   thousand
//   page faults     minor and major ones of the worker's thread, from /proc, over all of that
//   lost            received but neither judged nor back in the ring, or refused by the port
//   worst burst     the longest time between two bursts, beside an equally long time without swaps
//   drain           packets a second while the worker is asked for a quiescent state every so many bursts,
//                   over packets a second while it is not: what an empty pipeline costs
//
// The worker has CPU 1 to itself, everything else runs on CPU 0. The floor of the swap is 5 us or one and
// a half turns of the loop, whichever is more: a worker answers only between two bursts.
#include "tests/bench/running_gate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <thread>

namespace weir::bench {
namespace {

using std::chrono::milliseconds;
constexpr std::uint32_t keys = 6'400'000; // 64 MiB
constexpr unsigned swaps = 1000;

struct Swapping {
  std::vector<double> fresh_us, handed_over_us, attach_ms;
  LoopTimes times;
  double seconds = 0;
};

// `fresh` images one after the other, then two in turn until a thousand swaps have been.
void swap_all(RunningGate &gate, const Image &image, unsigned fresh, Swapping &result) {
  const dataplane::AttachContext context = gate.dataplane().generations.attach_context();
  Generation generation = 1;
  std::unique_ptr<dataplane::AttachedImage> next;
  const auto start = Clock::now();
  gate.port().times = &result.times;
  for (unsigned i = 0; i < fresh; ++i) {
    const auto attach_start = Clock::now();
    next = attached_copy(image, ++generation, context);
    result.attach_ms.push_back(ns_since(attach_start) / 1e6);
    result.fresh_us.push_back(static_cast<double>(gate.put_in_force(std::move(next)).swap_ns) / 1e3);
  }
  next = attached_copy(image, ++generation, context);
  dataplane::ImageSlot &slot = gate.dataplane().slot;
  for (unsigned i = fresh; i < swaps; ++i) {
    const auto published_at = Clock::now();
    auto published = slot.publish(std::move(next));
    while (!slot.quiesced(published.token)) {
    }
    result.handed_over_us.push_back(ns_since(published_at) / 1e3);
    next = std::move(published.previous);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  gate.port().times = nullptr;
  result.seconds = ns_since(start) / 1e9;
}

constexpr std::array<unsigned, 5> drain_every{0, 1024, 64, 8, 1};

std::array<std::vector<double>, drain_every.size()> drain_on_demand(RunningGate &gate, unsigned rounds) {
  std::array<std::vector<double>, drain_every.size()> mpps;
  for (unsigned round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < drain_every.size(); ++i) {
      gate.grace_every(drain_every[i]);
      mpps[i].push_back(gate.mpps_while([] { std::this_thread::sleep_for(milliseconds(20)); }));
    }
  gate.grace_every(0);
  return mpps;
}

void leave_out(std::vector<Standing> &standings, const std::string &why) {
  standings.push_back(not_measured("swap of 64 MiB, publish to quiesced, us", 5, 2, why, true));
  standings.push_back(not_measured("swap of 64 MiB, page faults in the worker", 0, 0, why, true));
  standings.push_back(not_measured("swap of 64 MiB, packets lost", 0, 0, why, true));
}

void bench_swap(const Options &options, std::vector<Standing> &standings) {
  if (cpus() < 2) return leave_out(standings, "needs two CPUs");
  run_on_cpu(0);
  const auto entries = make_entries(keys);
  const Image image(entries, {}, false);
  const auto sources = make_queries(keys, 50, 1u << 19, 7);
  RunningGate gate(sources);
  gate.put_in_force(attached_copy(image, 1, gate.dataplane().generations.attach_context()));

  const auto drains = drain_on_demand(gate, options.rounds());
  const std::uint64_t faults_before = gate.worker_faults();
  Swapping result;
  swap_all(gate, image, options.quick ? 20 : 250, result);
  const std::uint64_t faults = gate.worker_faults() - faults_before;
  LoopTimes quiet;
  gate.port().times = &quiet;
  std::this_thread::sleep_for(std::chrono::duration<double>(result.seconds));
  gate.port().times = nullptr;
  const std::uint64_t lost = gate.stop_and_count_lost();

  const Figure fresh = figure_of(result.fresh_us), handed = figure_of(result.handed_over_us);
  const double image_mib = static_cast<double>(image.report().image_bytes) / (1 << 20);
  Grid grid{{"", "swaps", "median us", "worst us"}, {}};
  const auto row = [&](const char *what, const std::vector<double> &us, const Figure &figure) {
    if (us.empty()) return;
    grid.rows.push_back(
        {what, std::to_string(us.size()), with_spread(figure), short_number(*std::ranges::max_element(us))});
  };
  row("publish to quiesced, a new image each time", result.fresh_us, fresh);
  row("the same, two images in turn", result.handed_over_us, handed);
  grid.rows.push_back({"one turn of the loop, with swaps", "", short_number(result.times.mean_us()),
                       short_number(result.times.worst_us())});
  grid.rows.push_back(
      {"one turn of the loop, without", "", short_number(quiet.mean_us()), short_number(quiet.worst_us())});
  for (std::size_t i = 1; i < drain_every.size(); ++i)
    grid.rows.push_back(
        {fmt::format("packets a second with a drain every {} bursts / with none", drain_every[i]), "",
         with_spread(ratio_of(drains[i], drains[0])), ""});
  grid.rows.push_back(
      {"copy, verify and map an image, ms", "", with_spread(figure_of(result.attach_ms)), ""});
  show(options, "swap",
       fmt::format("{} swaps of {:.0f} MiB at full rate: {} page faults in the worker, {} packets lost",
                   swaps, image_mib, faults, lost),
       grid);

  JsonLines lines(options, "swap");
  lines.line({{"bench", "swap"},
              {"image_bytes", image.report().image_bytes},
              {"swaps", std::uint64_t{swaps}},
              {"swap_us", fresh.median},
              {"spread_percent", fresh.spread_percent},
              {"handed_over_us", handed.median},
              {"loop_us", quiet.mean_us()},
              {"worst_loop_us", result.times.worst_us()},
              {"worst_loop_without_us", quiet.worst_us()},
              {"worker_faults", faults},
              {"lost", lost},
              {"attach_ms", figure_of(result.attach_ms).median}});
  for (std::size_t i = 1; i < drain_every.size(); ++i)
    lines.line({{"bench", "drain"},
                {"every_bursts", std::uint64_t{drain_every[i]}},
                {"of_full_speed", ratio_of(drains[i], drains[0]).median}});
  standings.push_back(standing("swap of 64 MiB, publish to quiesced, us (floor 5 us or 1.5 loops)",
                               std::max(5.0, 1.5 * quiet.mean_us()), 2, fresh, true));
  standings.push_back({"swap of 64 MiB, page faults in the worker", 0, 0, static_cast<double>(faults), true});
  standings.push_back({"swap of 64 MiB, packets lost", 0, 0, static_cast<double>(lost), true});
}

const Benchmark swap_benchmark{52, "swap", bench_swap};

} // namespace
} // namespace weir::bench
