#include "dataplane/count/worker_looks.hpp"

#include "weir/base/say.hpp"

#include <fmt/format.h>

namespace weir::dataplane {
namespace {

using namespace std::chrono_literals;
constexpr auto look_every = 1s;

} // namespace

bool WorkerLooks::look_if_due(const Counters &counters, Time now) {
  if (now < due_) return false;
  const bool slept = now - due_ >= patience; // this process was stopped, workers and all
  due_ = now + look_every;
  std::vector<std::string> all;
  for (unsigned id = 0; id < counters.workers(); ++id) {
    const WorkerCounters &worker = counters.worker(id);
    const std::uint64_t cycles = worker[CounterId::busy_cycles].get() + worker[CounterId::idle_cycles].get();
    if (seen_.size() <= id) seen_.push_back({.cycles = cycles, .moved = now});
    Seen &seen = seen_[id];
    if (slept || cycles != seen.cycles) seen = {.cycles = cycles, .moved = now, .standing = seen.standing};
    const bool stands = now - seen.moved >= patience;
    if (stands) {
      all.push_back(fmt::format(
          "worker {} on lcore {} has not come round its loop for {} s: its queues are not read. Look "
          "whether something else took its CPU (top -H), or restart weir-dataplane",
          id, worker.lcore, std::chrono::floor<std::chrono::seconds>(now - seen.moved).count()));
      if (!seen.standing) say_sentence("weir-dataplane", all.back());
    } else if (seen.standing) {
      say("weir-dataplane", "worker {} on lcore {} comes round again", id, worker.lcore);
    }
    seen.standing = stands;
  }
  all_come_round_ = all.empty();
  const std::lock_guard lock(mutex_);
  warnings_ = std::move(all);
  return true;
}

std::vector<std::string> WorkerLooks::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

} // namespace weir::dataplane
