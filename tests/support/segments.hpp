// Packets in several segments, as drivers may receive them.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace weir::test {

// A frame cut before each of these offsets, which rise and lie within it; null: the pool is empty.
inline rte_mbuf *in_segments(rte_mempool *pool, std::span<const std::uint8_t> frame,
                             std::span<const std::size_t> cuts) {
  rte_mbuf *first = nullptr, **link = &first;
  for (std::size_t i = 0, from = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : frame.size();
    rte_mbuf *segment = rte_pktmbuf_alloc(pool);
    if (segment == nullptr) {
      rte_pktmbuf_free(first);
      return nullptr;
    }
    std::memcpy(rte_pktmbuf_mtod(segment, void *), frame.data() + from, to - from);
    segment->data_len = static_cast<std::uint16_t>(to - from);
    *link = segment;
    link = &segment->next;
    from = to;
  }
  first->pkt_len = static_cast<std::uint32_t>(frame.size());
  first->nb_segs = static_cast<std::uint16_t>(cuts.size() + 1);
  return first;
}

inline std::vector<std::uint8_t> bytes_of(const rte_mbuf *packet) {
  std::vector<std::uint8_t> bytes;
  for (const rte_mbuf *segment = packet; segment != nullptr; segment = segment->next) {
    const auto *data = rte_pktmbuf_mtod(segment, const std::uint8_t *);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

} // namespace weir::test
