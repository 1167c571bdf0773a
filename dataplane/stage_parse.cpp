// Which kind of packet each is, and where its addresses stand.
#include "dataplane/stages.hpp"

#include <rte_prefetch.h>

namespace weir::dataplane {
namespace {

// The common burst: nothing but plain_ipv4. False at the first packet that is something else.
[[nodiscard]] bool parse_alike(Burst &burst) noexcept {
  constexpr unsigned ahead = 4;
  const unsigned at = burst.judges_destination ? plain_ipv4.destination_offset : plain_ipv4.source_offset;
  for (unsigned i = 0; i < ahead && i < burst.count; ++i) rte_prefetch0(frame_of(burst.packets[i]));
  for (unsigned i = 0; i < burst.count; ++i) {
    if (i + ahead < burst.count) rte_prefetch0(frame_of(burst.packets[i + ahead]));
    const std::uint8_t *frame = frame_of(burst.packets[i]);
    if (!is_plain_ipv4(frame, rte_pktmbuf_data_len(burst.packets[i]))) [[unlikely]]
      return false;
    burst.judged[i] = load_unaligned<std::uint32_t>(frame + at);
  }
  return true;
}

} // namespace

void parse_burst(Burst &burst) noexcept {
  burst.all_alike = parse_alike(burst);
  burst.plain = true;
  if (burst.all_alike) return;
  const auto at = burst.judges_destination ? &ParsedPacket::destination_offset : &ParsedPacket::source_offset;
  for (unsigned i = 0; i < burst.count; ++i) {
    const std::uint8_t *frame = frame_of(burst.packets[i]);
    ParsedPacket &parsed = burst.parsed[i];
    parsed = parse_packet(frame, rte_pktmbuf_data_len(burst.packets[i]));
    if (parsed.kind == PacketKind::ipv4 && !parsed.link_local)
      burst.judged[i] = load_unaligned<std::uint32_t>(frame + parsed.*at);
    else
      burst.plain = false;
  }
}

} // namespace weir::dataplane
