// Answers to packets that a rule or a list rejects: made from the packet, sent by the port that it came in by.
#include "dataplane/packet/burst_time.hpp"
#include "dataplane/packet/handover.hpp"
#include "dataplane/packet/reject.hpp"
#include "dataplane/packet/stages.hpp"

#include <rte_ethdev.h>

#include <bit>
#include <cstdint>

namespace weir::dataplane {
namespace {

// Null: there is nothing to say, or no memory.
rte_mbuf *reply_to(rte_mbuf *packet) noexcept {
  const std::span frame(frame_of(packet), rte_pktmbuf_data_len(packet));
  const ParsedPacket outer = parse_packet(frame.data(), frame.size());
  if (!outer.is_ip()) return nullptr;
  rte_mbuf *const reply = rte_pktmbuf_alloc(packet->pool);
  if (reply == nullptr) return nullptr;
  takes_over(reply);
  std::size_t bytes = 0;
  if (rte_pktmbuf_tailroom(reply) >= reply_bytes_max)
    bytes = write_reply(frame, outer, tuple_of(frame.data(), frame.size(), outer),
                        rte_pktmbuf_mtod(reply, std::uint8_t *));
  if (bytes == 0) {
    rte_pktmbuf_free(reply);
    return nullptr;
  }
  reply->data_len = static_cast<std::uint16_t>(bytes);
  reply->pkt_len = static_cast<std::uint32_t>(bytes);
  return reply;
}

} // namespace

void reject_packets(const Burst &burst, PacketMask packets, const WorkerSetup &setup, RateLimit &replies,
                    RejectCounters of, WorkerCounters &counters) noexcept {
  const auto rejected = static_cast<unsigned>(std::popcount(packets));
  rte_mbuf *made[burst_packets_max];
  unsigned count = 0;
  std::uint64_t bytes[burst_packets_max];
  if (setup.note_offset < 0) { // a replay has nobody on the other side
    const std::uint64_t now = now_ns(burst, setup);
    for (PacketMask rest = packets; rest != 0 && replies.takes(now); rest &= rest - 1)
      if (rte_mbuf *const reply = reply_to(burst.packets[std::countr_zero(rest)]); reply != nullptr) {
        bytes[count] = rte_pktmbuf_pkt_len(reply);
        made[count++] = reply;
      }
  }
  for (unsigned i = 0; i < count; ++i) hands_over(made[i]);
  const RxQueue &from = *burst.from;
  const unsigned sent =
      count == 0 ? 0 : rte_eth_tx_burst(from.port, from.tx_queue, made, static_cast<std::uint16_t>(count));
  if (sent < count) rte_pktmbuf_free_bulk(made + sent, count - sent);
  PortCounters &port = counters.ports[from.port_index];
  for (unsigned i = 0; i < sent; ++i) port[PortCounterId::tx_bytes].add(bytes[i]);
  port[PortCounterId::tx_packets].add(sent);
  counters[of.sent].add(sent);
  counters[of.held].add(rejected - sent);
}

} // namespace weir::dataplane
