// How packets get into a SWX pipeline of this process and out again: one input port and 64 output ports that
// are memory.
//
//   burst of mbufs -> window (window.hpp) -> program -> tx N -> outputs[i] = N, in the order of the burst
//
// The program works on a window, a copy of the packet's first bytes. Whatever it does to headers, the mbuf
// is as it was: same bytes, same offset, same length; the same goes for a program that emits nothing. Packets
// may leave in another order than they came in, since SWX runs up to 16 at a time, and are sorted back.
//
// One thread. Packets of several segments are seen as far as the first segment goes.
#pragma once

#include "p4/swx/window.hpp"
#include "weir/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct rte_mbuf;
struct rte_swx_pipeline;
struct rte_swx_pkt;

namespace weir::p4::swx {

struct Packet {
  const rte_mbuf *mbuf = nullptr;
  std::uint16_t port = 0;       // what the port header says
  std::uint32_t wire_bytes = 0; // likewise; 0: the mbuf's packet length
};

inline constexpr unsigned output_ports = 64;
inline constexpr unsigned no_port = output_ports - 1; // where `drop` and numbers beyond lead

class MemoryPort {
public:
  // `with_header`: the window begins with the port header. `emitted_bytes`: the most that a program may put
  // in front of what it left of a packet.
  MemoryPort(bool with_header, std::size_t emitted_bytes);
  MemoryPort(const MemoryPort &) = delete;
  MemoryPort &operator=(const MemoryPort &) = delete;

  // Registers the port types with the pipeline and configures the ports. The port must outlive the pipeline.
  [[nodiscard]] Status connect(rte_swx_pipeline *pipeline);

  // The next burst; outputs has its size. The one before must be done.
  void begin(std::span<const Packet> burst, std::span<std::uint8_t> outputs);
  [[nodiscard]] bool done() const noexcept { return left_ == burst_.size(); }

private:
  struct Window {
    const rte_mbuf *mbuf = nullptr;
    std::size_t index = 0; // in the burst
    std::vector<std::uint8_t> bytes;
  };
  struct Output { // what DPDK knows as one output port
    MemoryPort *port = nullptr;
    std::uint8_t number = 0;
  };
  struct Ops; // the functions DPDK calls

  bool lend(rte_swx_pkt *packet);
  void take_back(const rte_swx_pkt *packet, std::uint8_t output);

  bool with_header_;
  std::size_t headroom_;
  std::vector<Window> windows_;
  std::vector<Window *> free_;
  std::array<Output, output_ports> outputs_of_pipeline_{};

  std::span<const Packet> burst_;
  std::span<std::uint8_t> outputs_;
  std::size_t next_ = 0; // packet to be lent
  std::size_t left_ = 0; // packets that have come back
};

} // namespace weir::p4::swx
