// Tx ring and denied ring to files: brings packets back into the order of the capture and writes
// each to the file of the door by which it left, plus a line of the verdict table.
#pragma once

#include "dataplane/replay/replay_capture.hpp"
#include "dataplane/replay/replay_port.hpp"
#include "dataplane/replay/replay_shared.hpp"

#include <rte_ring.h>

#include <array>

namespace weir::dataplane {

class ReplaySink {
public:
  struct Wiring {
    rte_ring *passed = nullptr;
    rte_ring *denied = nullptr;
    int note_offset = -1;
  };
  struct Files {
    CaptureWriter passed;
    CaptureWriter denied;
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> verdicts{nullptr, &std::fclose};
    std::filesystem::path verdicts_name;
  };

  ReplaySink(Files files, ListNameOf list_name, Wiring wiring, ReplayShared &shared);

  void run(); // the thread

  // After the thread: flushes and closes what was written.
  [[nodiscard]] Status close();

private:
  static constexpr unsigned window_packets = 4096; // more than the pool can have under way
  static_assert(window_packets > ReplayPort::pool_mbufs_count &&
                (window_packets & (window_packets - 1)) == 0);
  static constexpr unsigned burst_packets_max = 64;

  [[nodiscard]] unsigned collect(rte_ring *ring, Verdict door);
  void write_in_order();
  void write(rte_mbuf *packet);
  void write_verdict(const PacketNote &note);
  [[nodiscard]] const std::string &name_of_list(Reason reason, CounterSlot slot);
  [[nodiscard]] Status status() const;

  Files files_;
  ListNameOf list_name_;
  Wiring wiring_;
  ReplayShared &shared_;
  std::uint64_t next_ = 0;                          // index of the packet to write next
  std::array<rte_mbuf *, window_packets> window_{}; // by index modulo its size
  std::array<std::vector<std::string>, 2> names_;   // of lists and of rules, by slot, as far as asked
};

} // namespace weir::dataplane
