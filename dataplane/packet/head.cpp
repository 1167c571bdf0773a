#include "dataplane/packet/head.hpp"

#include <cstdint>
#include <cstring>

namespace weir::dataplane {
namespace {

// Of each segment that bytes are taken from.
bool is_ours(const rte_mbuf *packet) noexcept {
  unsigned seen = 0;
  for (const rte_mbuf *segment = packet; segment != nullptr && seen < head_bytes; segment = segment->next) {
    if (rte_mbuf_refcnt_read(segment) != 1) return false;
    seen += segment->data_len;
  }
  return true;
}

bool has_room(const rte_mbuf *packet, unsigned wanted) noexcept {
  return RTE_MBUF_DIRECT(packet) && rte_pktmbuf_tailroom(packet) >= wanted - packet->data_len;
}

// An empty first segment in front of the others; null: there is no memory.
rte_mbuf *in_front_of(rte_mbuf *packet) noexcept {
  rte_mbuf *head = rte_pktmbuf_alloc(packet->pool);
  if (head == nullptr) return nullptr;
  __rte_pktmbuf_copy_hdr(head, packet);
  head->ol_flags = packet->ol_flags & ~(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
  head->pkt_len = packet->pkt_len;
  head->nb_segs = static_cast<std::uint16_t>(packet->nb_segs + 1);
  head->next = packet;
  return head;
}

void drop_empty_second(rte_mbuf *head) noexcept {
  rte_mbuf *empty = head->next;
  head->next = empty->next;
  --head->nb_segs;
  empty->next = nullptr;
  empty->nb_segs = 1;
  rte_pktmbuf_free_seg(empty);
}

void fill(rte_mbuf *head, unsigned wanted) noexcept {
  while (head->data_len < wanted && head->next != nullptr) {
    rte_mbuf *from = head->next;
    const auto part = static_cast<std::uint16_t>(std::min<unsigned>(from->data_len, wanted - head->data_len));
    std::memcpy(rte_pktmbuf_mtod_offset(head, char *, head->data_len), rte_pktmbuf_mtod(from, const char *),
                part);
    head->data_len = static_cast<std::uint16_t>(head->data_len + part);
    from->data_off = static_cast<std::uint16_t>(from->data_off + part);
    from->data_len = static_cast<std::uint16_t>(from->data_len - part);
    if (from->data_len == 0) drop_empty_second(head);
  }
}

} // namespace

bool gather_head(rte_mbuf *&packet) noexcept {
  if (has_head(packet)) return true;
  const unsigned wanted = std::min(head_bytes, rte_pktmbuf_pkt_len(packet));
  if (!is_ours(packet)) return false;
  rte_mbuf *head = has_room(packet, wanted) ? packet : in_front_of(packet);
  if (head == nullptr || rte_pktmbuf_tailroom(head) + head->data_len < wanted) {
    if (head != nullptr && head != packet) rte_pktmbuf_free_seg(head);
    return false;
  }
  fill(head, wanted);
  packet = head;
  return true;
}

} // namespace weir::dataplane
