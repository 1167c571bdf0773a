#include "tests/bench/running_gate.hpp"

#include <rte_pause.h>

#include <cstdlib>
#include <unistd.h>

namespace weir::bench {
namespace {

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) give_up("no temporary folder can be made");
  return name;
}

dataplane::DataplaneSetup setup_in(const std::filesystem::path &folder) {
  dataplane::DataplaneSetup setup;
  setup.state_dir = folder;
  return setup;
}

} // namespace

RunningGate::RunningGate(std::span<const std::uint32_t> sources)
    : folder_(make_folder()), dataplane_(setup_in(folder_)) {
  dataplane::WorkerSetup setup;
  setup.queues = {port_.way()};
  setup.denied = port_.ring();
  worker_ = std::make_unique<dataplane::Worker>(std::move(setup), dataplane_.slot, dataplane_.counters);
  port_.feed(sources, 0, nullptr);
  port_.on_burst = [this, bursts = 0u]() mutable {
    const unsigned every = grace_every_.load(std::memory_order_relaxed);
    if (every == 0 || ++bursts < every) return;
    bursts = 0;
    (void)dataplane_.slot.start_grace();
  };
  thread_ = std::thread([this] {
    run_on_cpu(1);
    thread_id_ = gettid();
    worker_->run(stop_);
  });
  // Settled: code and packets were touched once.
  while (dataplane_.counters.worker(0)[dataplane::CounterId::judged].get() < 100 * loop_packets)
    std::this_thread::yield();
}

RunningGate::~RunningGate() {
  if (thread_.joinable()) stop_and_count_lost();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

dataplane::Swap RunningGate::put_in_force(std::unique_ptr<dataplane::AttachedImage> image) {
  dataplane::Generations &generations = dataplane_.generations;
  const wire::Commit commit{image->generation, image->sequence.load()};
  generations.set_staged(std::move(image));
  dataplane::Swap swap;
  const auto done = generations.commit(commit, [&](const dataplane::Swap &what) { swap = what; });
  if (!done) give_up(done.error().message);
  while (swap.generation == 0) {
    generations.tick();
    rte_pause();
  }
  return swap;
}

double RunningGate::mpps_while(const std::function<void()> &what) {
  const dataplane::Counter &judged = dataplane_.counters.worker(0)[dataplane::CounterId::judged];
  const double cpu_before = cpu_ns_of(thread_.native_handle());
  const std::uint64_t before = judged.get();
  what();
  const std::uint64_t after = judged.get();
  return static_cast<double>(after - before) / (cpu_ns_of(thread_.native_handle()) - cpu_before) * 1e3;
}

std::uint64_t RunningGate::stop_and_count_lost() {
  stop_ = true;
  thread_.join();
  const dataplane::WorkerCounters &counters = dataplane_.counters.worker(0);
  return counters[dataplane::CounterId::received].get() - counters[dataplane::CounterId::judged].get() +
         counters.ports[0][dataplane::PortCounterId::tx_refused].get() +
         (loop_packets - port_.packets_present());
}

} // namespace weir::bench
