// Capture to rx ring: reads packets, paces them, holds them at gates, cuts long frames into chains.
#pragma once

#include "dataplane/replay/replay_capture.hpp"
#include "dataplane/replay/replay_port.hpp"
#include "dataplane/replay/replay_shared.hpp"

#include <rte_ring.h>

#include <array>

namespace weir::dataplane {

class ReplaySource {
public:
  struct Wiring {
    rte_mempool *pool = nullptr;
    rte_ring *out = nullptr;
    int note_offset = -1;
  };

  ReplaySource(CaptureReader reader, const ReplayOptions &options, Wiring wiring, ReplayShared &shared);

  void run(); // the thread; frees what it still holds at the end

private:
  static constexpr unsigned burst_packets_max = 32;
  static_assert(captured_bytes_max <= ReplayPort::frame_bytes_max);
  static constexpr unsigned segments_max = ReplayPort::frame_bytes_max / ReplayPort::segment_bytes;
  using Clock = ReplayShared::Clock;

  [[nodiscard]] bool stopping() const noexcept;
  [[nodiscard]] Status play();
  [[nodiscard]] bool release(const CapturedPacket &packet);
  [[nodiscard]] bool wait_for_generation();
  [[nodiscard]] bool wait_for_turn();
  [[nodiscard]] bool take_segments(unsigned count);
  [[nodiscard]] rte_mbuf *to_chain(const CapturedPacket &packet);
  void flush();

  CaptureReader reader_;
  std::uint64_t loops_;
  std::uint64_t rate_pps_;
  std::vector<ReplayGate> gates_; // by index, generations never falling
  std::size_t next_gate_ = 0;
  Wiring wiring_;
  ReplayShared &shared_;

  std::uint64_t index_ = 0; // of the next packet
  Clock::time_point rate_origin_{};
  std::uint64_t rate_origin_index_ = 0;

  std::array<rte_mbuf *, burst_packets_max> burst_{};
  unsigned burst_packets_ = 0;
  std::array<rte_mbuf *, segments_max> spare_{}; // mbufs taken from the pool and not used yet
  unsigned spare_count_ = 0;
};

} // namespace weir::dataplane
