#include "dataplane/stages.hpp"

#include <rte_prefetch.h>

namespace weir::dataplane {

void parse_burst(Burst &burst) noexcept {
  constexpr unsigned ahead = 4;
  for (unsigned i = 0; i < ahead && i < burst.count; ++i) rte_prefetch0(frame_of(burst.packets[i]));
  for (unsigned i = 0; i < burst.count; ++i) {
    if (i + ahead < burst.count) rte_prefetch0(frame_of(burst.packets[i + ahead]));
    const rte_mbuf *packet = burst.packets[i];
    burst.parsed[i] = parse_packet(frame_of(packet), rte_pktmbuf_data_len(packet));
  }
}

} // namespace weir::dataplane
