// A whole dataplane in the test's process: two ports made of rings, peers of each other (port 0 is
// outside, port 1 inside), real workers on EAL's lcores and the real service loop on a thread.
#pragma once

#include "dataplane/gate/dataplane.hpp"
#include "dataplane/service.hpp"
#include "weir/key/verdict.hpp"

#include <rte_mempool.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace weir::test {

struct RingGateOptions {
  config::NoImage no_image = config::NoImage::open;
  PortSide sides[2] = {PortSide::outside, PortSide::inside};
  unsigned workers = 1;                 // 1 or 2; each port has as many queues, and frames go to them in turn
  std::vector<int> node_of_worker = {}; // empty: as the machine has them
  unsigned tx_slots = 8192;             // of a transmit queue, which takes one packet less: a power of two
};

class RingGate {
public:
  explicit RingGate(const RingGateOptions &options = {}); // EAL must run
  ~RingGate();
  RingGate(const RingGate &) = delete;
  RingGate &operator=(const RingGate &) = delete;

  [[nodiscard]] dataplane::Dataplane &dataplane() noexcept { return *dataplane_; }
  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "dataplane.sock"; }
  [[nodiscard]] std::filesystem::path state_dir() const { return folder_; }

  // Puts a frame into a port; false when its ring or the pool is full.
  bool offer(unsigned port, std::span<const std::uint8_t> frame) { return offer(port, frame, {}); }
  // The same in several segments: it is cut before each of these offsets, which rise and lie within it.
  bool offer(unsigned port, std::span<const std::uint8_t> frame, std::span<const std::size_t> cuts);
  // Takes what came out of a port, frees it, returns how many; `see` looks at each frame before that.
  using See = std::function<void(std::span<const std::uint8_t> frame)>;
  unsigned take(unsigned port, const See &see = {});

  struct Outcome {
    Verdict verdict = Verdict::drop;
    Reason reason = Reason::no_image;
    bool came_out = false; // of the peer
  };
  // One frame through an otherwise idle gate.
  Outcome judge(unsigned port, std::span<const std::uint8_t> frame, std::span<const std::size_t> cuts = {});

  [[nodiscard]] std::uint64_t judged() const; // packets that left with a verdict

private:
  std::filesystem::path folder_;
  rte_mempool *pool_ = nullptr;
  unsigned queues_ = 1;
  unsigned next_queue_ = 0;
  rte_ring *rx_[2][2] = {}, *tx_[2][2] = {}; // [port][queue]
  std::uint16_t port_ids_[2] = {};
  std::unique_ptr<dataplane::Dataplane> dataplane_;
  std::unique_ptr<dataplane::Service> service_;
  std::atomic<bool> stop_{false};
  std::thread serving_;
};

} // namespace weir::test
