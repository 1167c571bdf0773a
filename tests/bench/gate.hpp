// What the measurements of whole packet loops share: ports made of rings with a fixed population of
// packets that goes round and round, and images attached as the dataplane attaches them.
//
// A LoopPort is a net_ring port whose transmit ring is its receive ring. Its packets are few enough to
// stay in the L2 cache, as on a NIC that delivers into the cache. So that a lookup nevertheless meets a
// new key each time, a receive callback writes the next source address of a stream into each packet,
// four bytes of a line that the parser reads anyway: every contender pays for it alike. What the gate
// drops goes back to the ring too (through the worker's door for denied packets), at the price of a
// transmission. The callback counts, and sets `stop` after as many packets as were asked for.
#pragma once

#include "dataplane/image/attached_image.hpp"
#include "dataplane/image/image_slot.hpp"
#include "dataplane/packet/worker.hpp"
#include "tests/bench/contenders.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <pthread.h>
#include <span>
#include <string>
#include <vector>

struct rte_eth_rxtx_callback;
struct rte_mempool;
struct rte_mbuf;
struct rte_ring;

namespace weir::dataplane {
class SampleRings;
}

namespace weir::bench {

inline constexpr unsigned loop_packets = 1024; // what one LoopPort keeps going

// Gaps between bursts, seen by a port's callback: how long one turn of the loop took. Written by the
// worker's thread, read by others.
struct LoopTimes {
  void saw(std::uint64_t cycles) noexcept {
    if (cycles > worst_cycles.get()) worst_cycles.add(cycles - worst_cycles.get());
    sum_cycles.add(cycles);
    loops.add(1);
  }
  [[nodiscard]] double mean_us() const;
  [[nodiscard]] double worst_us() const;
  dataplane::Counter worst_cycles, sum_cycles, loops;
};

// A packet of a LoopPort, and where each turn writes four bytes of an address into it.
struct LoopFrame {
  std::vector<std::uint8_t> bytes;
  std::uint32_t written_at = 0;
};
[[nodiscard]] LoopFrame plain_frame(); // an IPv4 header and 64 bytes, from 192.0.2.1

class LoopPort {
public:
  LoopPort() : LoopPort({plain_frame()}) {}                // EAL must run
  explicit LoopPort(const std::vector<LoopFrame> &frames); // in turn
  ~LoopPort();
  LoopPort(const LoopPort &) = delete;
  LoopPort &operator=(const LoopPort &) = delete;

  [[nodiscard]] dataplane::RxQueue way(std::uint16_t port_index = 0) const;
  [[nodiscard]] rte_ring *ring() const noexcept { return ring_; }
  // The source addresses to come, in wire order; `packets` from now on `stop` is set. 0: never.
  void feed(std::span<const std::uint32_t> sources, std::uint64_t packets, std::atomic<bool> *stop);
  // Called for every burst, in the worker's thread.
  std::function<void()> on_burst;
  // Where the callback writes its times now; null: nowhere.
  std::atomic<LoopTimes *> times{nullptr};
  // Distinct packets of this port that lie in its ring: all of them unless some were lost.
  [[nodiscard]] unsigned packets_present() const;

private:
  static std::uint16_t receive(std::uint16_t port, std::uint16_t queue, rte_mbuf **packets,
                               std::uint16_t count, std::uint16_t max, void *self);
  rte_mempool *pool_ = nullptr;
  rte_ring *ring_ = nullptr;
  std::uint16_t port_id_ = 0;
  const rte_eth_rxtx_callback *callback_ = nullptr;
  std::span<const std::uint32_t> sources_;
  std::size_t at_ = 0;
  std::uint64_t left_ = 0, last_cycle_ = 0;
  std::atomic<bool> *stop_ = nullptr;
};

// The image in memory of its own, sealed and attached as one that came over the socket.
[[nodiscard]] std::unique_ptr<dataplane::AttachedImage>
attached_copy(const Image &image, Generation generation, const dataplane::AttachContext &context);
[[nodiscard]] std::unique_ptr<dataplane::AttachedImage>
attached_copy(Bytes bytes, Generation generation, const dataplane::AttachContext &context);
// Denied hosts in words, with what `add` puts beside them.
[[nodiscard]] std::unique_ptr<dataplane::AttachedImage>
attached_gate(std::span<const build::EntryV4> hosts, Generation generation,
              const dataplane::AttachContext &context, const std::function<void(build::BuildInput &)> &add);

// A net_ring port over these rings, started; `pool` is asked for by ethdev and not used by rings.
[[nodiscard]] std::uint16_t ring_port(const std::string &name, rte_ring *rx, rte_ring *tx, rte_mempool *pool);
// A packet with an IPv4 header and 64 bytes, from 192.0.2.1.
[[nodiscard]] rte_mbuf *make_packet(rte_mempool *pool);

// Takes what waits in the rings of samples, so that the next run finds them as empty as this one did.
void throw_away(dataplane::SampleRings &samples);

// CPUs this machine gives us, whatever EAL bound the calling thread to; and a thread on one of them.
[[nodiscard]] unsigned cpus();
void run_on_cpu(unsigned cpu); // the calling thread
void run_on_all_cpus();        // the calling thread

// CPU time that another thread of this process has had.
[[nodiscard]] double cpu_ns_of(pthread_t thread);

[[nodiscard]] double cycles_to_us(std::uint64_t cycles);

} // namespace weir::bench
