#include "dataplane/stages.hpp"

#include <rte_prefetch.h>

namespace weir::dataplane {

void parse_burst(Burst &burst) noexcept {
  constexpr unsigned ahead = 4;
  for (unsigned i = 0; i < ahead && i < burst.count; ++i) rte_prefetch0(frame_of(burst.packets[i]));
  unsigned other = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    if (i + ahead < burst.count) rte_prefetch0(frame_of(burst.packets[i + ahead]));
    const rte_mbuf *packet = burst.packets[i];
    const std::uint8_t *frame = frame_of(packet);
    const std::size_t captured = rte_pktmbuf_data_len(packet);
    if (is_plain_ipv4(frame, captured)) [[likely]] {
      burst.parsed[i] = plain_ipv4;
    } else {
      burst.parsed[i] = parse_packet(frame, captured);
      const bool judged_v4 = burst.parsed[i].kind == PacketKind::ipv4 && !burst.parsed[i].link_local;
      other += judged_v4 ? 0 : 1;
    }
  }
  burst.plain = other == 0;
}

} // namespace weir::dataplane
