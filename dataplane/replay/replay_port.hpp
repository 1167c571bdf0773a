// A capture file as a port: what weirctl replay puts in front of an ordinary worker.
//
//   capture -> source thread -> rte_ring -> ethdev (rte_eth_from_rings) -> worker: rx_burst
//                                                                            |       |
//   PASS.pcap    <-+                                    pass: tx_burst  <----+       +---> drop:
//   DENIED.pcap  <-+- sink thread, merges by index  <-  tx ring  <----+                denied_ring()
//   verdicts.csv <-+                                                 |                     |
//                  +-------------------------------------------------+---------------------+
//
// The worker treats the port like any other, with one duty more: before a packet leaves it fills in
// verdict, reason, list and generation of the packet's PacketNote, and what it drops - a refused
// transmission included - goes to denied_ring() instead of being freed. So every packet reaches the
// sink exactly once, and the sink writes them in the order of the capture.
//
// Memory is bounded by the pool: it holds pool_mbufs_count mbufs, every ring has room for all of
// them, and the source waits for the sink to free some. Therefore no ring is ever full, and neither
// side drops. A frame longer than segment_bytes becomes a chain of mbufs; headers that the parser
// looks at always stand in the first one.
//
// Input: classic pcap (microseconds or nanoseconds, either byte order) and pcapng, link type Ethernet.
// Output: classic pcap, with the nanosecond magic unless the input is classic with microseconds, so
// that timestamps come back unchanged; snapshot length, captured and original lengths are kept.
// A capture cut inside a packet ends there and sets ReplayProgress::truncated.
//
// Threads: create() and start() by the service thread; generation_live(), request_stop(), progress()
// by any; note_of() by the worker. Times are nanoseconds, lengths bytes.
#pragma once

#include "dataplane/packet/note.hpp"
#include "weir/base/result.hpp"
#include "weir/image/identity.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::dataplane {

// Holds packet `index` and all after it back until a generation >= `generation` is live.
struct ReplayGate {
  std::uint64_t index = 0;
  Generation generation{};
};

struct ReplayOptions {
  std::filesystem::path in;
  std::filesystem::path out;      // passed packets; empty: not written
  std::filesystem::path denied;   // dropped packets; empty: not written
  std::filesystem::path verdicts; // CSV `index,generation,verdict,reason,list`; empty: not written
  std::uint64_t loops = 1;        // how often the capture is read; 0 is refused
  std::uint64_t rate_pps = 0;     // 0: as fast as it goes
  std::vector<ReplayGate> gates;
};

// `INDEX:GENERATION`, as written on the command line.
[[nodiscard]] Result<ReplayGate> parse_gate(const std::string &text);

struct ReplayProgress {
  std::uint64_t read = 0;    // packets taken from the capture
  std::uint64_t written = 0; // packets that reached the sink, in order
  bool eof = false;          // the whole capture was read, all loops
  bool truncated = false;    // it ended inside a packet
  double seconds = 0;        // from the first packet released to the last one written
};

// Name of a list, or under Reason::rule of a packet rule, by its counter slot. Called by the sink thread, once a slot: names
// never change.
using ListNameOf = std::function<std::string(Reason reason, CounterSlot slot)>;

class ReplayPort {
public:
  static constexpr unsigned pool_mbufs_count = 4095;
  static constexpr unsigned segment_bytes = 2048;
  static constexpr std::uint32_t frame_bytes_max = 262'144;

  // Opens every file, makes pool, rings and ethdev; nothing moves yet. EAL must be initialised.
  // Wrong link type, unreadable capture, unwritable output: an error that says so.
  [[nodiscard]] static Result<std::unique_ptr<ReplayPort>> create(const ReplayOptions &options,
                                                                  ListNameOf list_name);

  ~ReplayPort(); // stops both threads
  ReplayPort(const ReplayPort &) = delete;
  ReplayPort &operator=(const ReplayPort &) = delete;

  // For the one who configures the ethdev: one rx and one tx queue, rx_queue_setup with pool().
  [[nodiscard]] std::uint16_t port_id() const noexcept;
  [[nodiscard]] rte_mempool *pool() const noexcept;
  [[nodiscard]] rte_ring *denied_ring() const noexcept; // multi-producer
  [[nodiscard]] int note_offset() const noexcept;

  // Starts source and sink. Packets flow once generation_live() was called with a number above 0.
  void start();

  // Tells that `generation` is published and every worker has seen it. Never steps back.
  void generation_live(Generation generation) noexcept;

  // Ends the input at the next packet; what is under way is still judged and written.
  void request_stop() noexcept;

  // True when every packet read was written and no more will come, or after an error.
  [[nodiscard]] bool finished() const noexcept;
  [[nodiscard]] ReplayProgress progress() const noexcept;

  // Once finished(): joins the threads, flushes and closes the files, returns what happened or the
  // first error of source or sink (corrupt capture, full disk).
  [[nodiscard]] Result<ReplayProgress> finish();

private:
  struct Parts;
  explicit ReplayPort(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace weir::dataplane
