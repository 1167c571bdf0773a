// Swapping an image of 64 MiB under a worker that looks up all the time: from publish to quiesced,
// and the page faults that the worker takes meanwhile. The worker is the packet loop's skeleton:
// three bursts in flight, quiescence reported with an empty pipeline, no ports.
#include "control/build/memory_file.hpp"
#include "dataplane/attached_image.hpp"
#include "dataplane/image_slot.hpp"
#include "tests/bench/contenders.hpp"

#include <fmt/core.h>

#include <atomic>
#include <sys/resource.h>
#include <thread>
#include <utility>

namespace weir::bench {
namespace {

// The image in memory of its own, sealed and attached as one that came over the socket.
std::unique_ptr<dataplane::AttachedImage> attached_copy(const Image &image, std::uint64_t generation,
                                                        dataplane::ListSlots &lists) {
  const auto header = *image.view().header;
  auto file = build::MemoryFile::make(header.total_bytes, true);
  if (!file) give_up(file.error().message);
  std::memcpy(file->bytes().data(), image.region().bytes().data(), header.total_bytes);
  auto &copy = *reinterpret_cast<image::ImageHeader *>(file->bytes().data());
  copy.generation = generation;
  copy.header_checksum = checksum(Bytes(file->bytes()).first(offsetof(image::ImageHeader, header_checksum)));
  const auto fd = std::move(*file).seal();
  if (!fd) give_up(fd.error().message);
  dataplane::AttachContext context;
  context.slots = &lists;
  context.grace = [] {};
  auto attached = dataplane::attach_memfd(
      fd->get(), {header.store_id, generation, header.sequence, header.total_bytes}, context);
  if (!attached) give_up(attached.error().message);
  return std::move(*attached);
}

struct WorkerTrace {
  std::atomic<bool> stop{false}, measuring{false};
  std::atomic<std::uint64_t> loops{0};
  std::uint64_t found = 0;
  long faults = 0; // of the worker's thread while measuring
};

long faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

void work(dataplane::ImageSlot &slot, std::span<const std::uint32_t> queries, WorkerTrace &trace) {
  const auto bursts = std::make_unique<table::BurstLookup[]>(3);
  table::BurstLookup *asked = nullptr, *probed = nullptr; // in flight
  std::uint64_t last_token = 0, begun = 0;
  std::size_t at = 0;
  const auto step = [&](bool bring_new) {
    if (probed) {
      probed->finish();
      for (unsigned i = 0; i < burst_keys; ++i) trace.found += probed->deny(i) != 0;
    }
    probed = std::exchange(asked, nullptr);
    if (probed) probed->probe_first();
    if (!bring_new) return;
    asked = &bursts[begun++ % 3];
    asked->begin(slot.current()->view);
    for (unsigned i = 0; i < burst_keys; ++i) asked->ask_v4(i, queries[at + i]);
    at = at + 2 * burst_keys <= queries.size() ? at + burst_keys : 0;
  };
  slot.join(0);
  long faults_before = 0;
  bool measured = false;
  while (!trace.stop.load(std::memory_order_relaxed)) {
    if (!measured && trace.measuring.load(std::memory_order_acquire)) {
      measured = true;
      faults_before = faults_of_this_thread();
    }
    step(true);
    trace.loops.fetch_add(1, std::memory_order_relaxed);
    if (!slot.report_wanted(last_token)) continue;
    while (asked || probed) step(false);
    last_token = slot.report(0);
  }
  trace.faults = faults_of_this_thread() - faults_before;
  slot.leave(0);
}

} // namespace

static void bench_swap(const Options &options, std::vector<Standing> &standings) {
  const std::uint32_t keys = 6'400'000;
  const auto entries = make_entries(keys);
  const Image image(entries, {}, false);
  const auto queries = make_queries(keys, 50, 1u << 18, 7);
  dataplane::ListSlots lists;
  dataplane::ImageSlot slot(1);
  std::uint64_t generation = 1;
  (void)slot.publish(attached_copy(image, generation, lists));

  WorkerTrace trace;
  std::thread worker(work, std::ref(slot), std::span<const std::uint32_t>(queries), std::ref(trace));
  while (trace.loops.load() < 100'000) std::this_thread::yield();
  trace.measuring.store(true, std::memory_order_release);

  std::vector<double> swaps_us, attaches_ms;
  const std::uint64_t loops_before = trace.loops.load();
  const auto traffic_start = Clock::now();
  for (unsigned i = 0; i < (options.quick ? 10u : 60u); ++i) {
    const auto attach_start = Clock::now();
    auto next = attached_copy(image, ++generation, lists);
    attaches_ms.push_back(ns_since(attach_start) / 1e6);
    const auto start = Clock::now();
    const auto published = slot.publish(std::move(next));
    while (!slot.quiesced(published.token)) {
    }
    swaps_us.push_back(ns_since(start) / 1e3);
  }
  const double loop_us =
      ns_since(traffic_start) / 1e3 / static_cast<double>(trace.loops.load() - loops_before);
  trace.stop = true;
  worker.join();

  const Figure swap = figure_of(swaps_us), attach = figure_of(attaches_ms);
  const double image_mib = static_cast<double>(image.report().image_bytes) / (1 << 20);
  fmt::print("\nswap of {:.0f} MiB under lookups: {:.2f} us from publish to quiesced (+-{:.0f} %, one loop "
             "{:.2f} us), "
             "{} page faults in the worker over {} swaps; copy, verify and attach {:.0f} ms\n",
             image_mib, swap.median, swap.spread_percent, loop_us, trace.faults, swaps_us.size(),
             attach.median);
  JsonLines lines(options, "swap");
  lines.line({{"bench", "swap"},
              {"image_bytes", image.report().image_bytes},
              {"swaps", std::uint64_t{swaps_us.size()}},
              {"swap_us", swap.median},
              {"spread_percent", swap.spread_percent},
              {"loop_us", loop_us},
              {"worker_faults", static_cast<std::uint64_t>(trace.faults)},
              {"attach_ms", attach.median}});
  standings.push_back({"swap of 64 MiB, publish to quiesced, us", 5, 2, swap.median, true});
  standings.push_back(
      {"swap of 64 MiB, page faults in the worker", 0, 0, static_cast<double>(trace.faults), true});
}

static const Benchmark swap_benchmark{50, "swap", bench_swap};

} // namespace weir::bench
