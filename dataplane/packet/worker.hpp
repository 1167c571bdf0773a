// A worker: one lcore that polls its (port, queue) pairs and takes each burst through the stages
//
//   rx -> parse -> lookup (three bursts in flight) -> judge -> send -> count
//
// or, where the P4 program judges, rx -> parse -> program -> send -> count, one burst at a time.
//
// The burst keeps the image that was in force when it began. The loop finishes all bursts in flight
// before it reports a quiescent state, when a round of polls brings nothing, and before it ends.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/image/image_slot.hpp"
#include "dataplane/packet/sample_sort.hpp"
#include "dataplane/port/queue.hpp"
#include "weir/config/config.hpp"
#include "weir/key/verdict.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

struct rte_ring;

namespace weir::dataplane {

class DropWatch;
class P4Target;

enum class WhenIdle : std::uint8_t { spin, yield };  // yield: CPUs are shared, give way and then sleep
enum class WhenTxFull : std::uint8_t { drop, wait }; // wait: replay sinks never drop

struct WorkerSetup {
  unsigned id = 0;
  unsigned image_copy = 0; // that its lookups read (image_copies.hpp)
  std::vector<RxQueue> queues;
  config::NoImage no_image = config::NoImage::open;
  WhenIdle when_idle = WhenIdle::spin;
  WhenTxFull when_tx_full = WhenTxFull::drop;
  int note_offset = -1;       // >= 0: fill in each packet's PacketNote (note.hpp)
  rte_ring *denied = nullptr; // dropped packets go here (waiting while full) and are not freed
  WorkerRings samples{};      // of wire::Sample elements; null: nothing is sampled
  std::uint32_t sample_one_in = 1024;
  const DropWatch *drops = nullptr; // who wants to see what is dropped; null: nobody can
  P4Target *p4 = nullptr;           // judges in place of the stages, if there is one
};

class Worker {
public:
  Worker(WorkerSetup setup, ImageSlot &slot, Counters &counters);
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  // Runs until `stop` is set and everything in flight has left.
  void run(const std::atomic<bool> &stop);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace weir::dataplane
