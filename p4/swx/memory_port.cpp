#include "p4/swx/memory_port.hpp"

#include "p4/swx/dpdk.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace weir::p4::swx {
namespace {

constexpr unsigned in_flight_max = 16; // threads of a SWX pipeline, a packet each
constexpr unsigned operand_slack = 8;  // fields are read eight bytes at a time
constexpr const char *type_name = "weir_memory";

template <class T> std::uint8_t *put_network_order(std::uint8_t *at, T value) {
  for (unsigned i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
  return at + sizeof(T);
}

} // namespace

struct MemoryPort::Ops {
  static void *create(void *args) { return args; }
  static void release(void *) {}

  static int rx(void *port, rte_swx_pkt *packet) { return static_cast<MemoryPort *>(port)->lend(packet); }
  static void in_stats(void *, rte_swx_port_in_stats *stats) { *stats = {}; }

  static void tx(void *port, rte_swx_pkt *packet) {
    const auto *output = static_cast<Output *>(port);
    output->port->take_back(packet, output->number);
  }
  // The parser takes no program that mirrors.
  static void clone(void *, rte_swx_pkt *) {}
  static void clone_cut(void *, rte_swx_pkt *, std::uint32_t) {}
  static void out_stats(void *, rte_swx_port_out_stats *stats) { *stats = {}; }
};

MemoryPort::MemoryPort(bool with_header, std::size_t emitted_bytes)
    : with_header_(with_header), headroom_(emitted_bytes), windows_(in_flight_max) {
  const std::size_t bytes = headroom_ + port_header_bytes + window_bytes + operand_slack;
  for (Window &window : windows_) {
    window.bytes.resize(bytes);
    free_.push_back(&window);
  }
  for (unsigned i = 0; i < output_ports; ++i) outputs_of_pipeline_[i] = {this, static_cast<std::uint8_t>(i)};
}

Status MemoryPort::connect(rte_swx_pipeline *pipeline) {
  rte_swx_port_in_ops in{Ops::create, Ops::release, Ops::rx, Ops::in_stats};
  rte_swx_port_out_ops out{Ops::create,    Ops::release, Ops::tx,       Ops::clone,
                           Ops::clone_cut, nullptr,      Ops::out_stats};
  int status = rte_swx_pipeline_port_in_type_register(pipeline, type_name, &in);
  if (status == 0) status = rte_swx_pipeline_port_out_type_register(pipeline, type_name, &out);
  if (status == 0) status = rte_swx_pipeline_port_in_config(pipeline, 0, type_name, this);
  for (unsigned i = 0; status == 0 && i < output_ports; ++i)
    status = rte_swx_pipeline_port_out_config(pipeline, i, type_name, &outputs_of_pipeline_[i]);
  if (status) return fail(Errc::io, fmt::format("DPDK takes no memory ports: {}", std::strerror(-status)));
  return {};
}

void MemoryPort::begin(std::span<const Packet> burst, std::span<std::uint8_t> outputs) {
  burst_ = burst;
  outputs_ = outputs;
  next_ = left_ = 0;
}

bool MemoryPort::lend(rte_swx_pkt *packet) {
  if (next_ == burst_.size() || free_.empty()) return false;
  Window &window = *free_.back();
  free_.pop_back();
  const Packet &from = burst_[next_];
  window.mbuf = from.mbuf;
  window.index = next_++;

  const std::size_t captured = rte_pktmbuf_data_len(from.mbuf);
  const std::size_t copied = std::min<std::size_t>(captured, window_bytes);
  std::uint8_t *at = window.bytes.data() + headroom_;
  if (with_header_) {
    at = put_network_order(at, from.port);
    at = put_network_order(at, static_cast<std::uint16_t>(captured));
    at = put_network_order(at, from.wire_bytes ? from.wire_bytes : rte_pktmbuf_pkt_len(from.mbuf));
  }
  std::memcpy(at, rte_pktmbuf_mtod(from.mbuf, const std::uint8_t *), copied);
  std::memset(at + copied, 0, window_bytes - copied + operand_slack);

  packet->handle = &window;
  packet->pkt = window.bytes.data();
  packet->offset = static_cast<std::uint32_t>(headroom_);
  packet->length = static_cast<std::uint32_t>(captured + (with_header_ ? port_header_bytes : 0));
  return true;
}

void MemoryPort::take_back(const rte_swx_pkt *packet, std::uint8_t output) {
  auto *window = static_cast<Window *>(packet->handle);
  outputs_[window->index] = output;
  ++left_;
  free_.push_back(window);
}

} // namespace weir::p4::swx
