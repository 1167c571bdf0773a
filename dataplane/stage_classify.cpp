// Which addresses are judged, and the questions about them.
#include "dataplane/kernels/kernels.hpp"
#include "dataplane/stages.hpp"

namespace weir::dataplane {
namespace {

void ask(Burst &burst, unsigned slot, unsigned packet, std::uint16_t address_offset) noexcept {
  const std::uint8_t *address = frame_of(burst.packets[packet]) + address_offset;
  if (burst.parsed[packet].kind == PacketKind::ipv4)
    burst.lookup.ask_v4(slot, load_unaligned<std::uint32_t>(address));
  else
    burst.lookup.ask_v6(slot, address);
}

// What enters an inside port goes to the remote party; from everywhere else it comes from it.
[[nodiscard]] bool judges_destination(Match match, PortSide side) noexcept {
  return match == Match::destination || (match == Match::remote && side == PortSide::inside);
}

} // namespace

void ask_burst(Burst &burst) noexcept {
  if (burst.image == nullptr) return;
  burst.match = burst.image->view.policy.match;
  burst.lookup.begin(burst.image->view, best_kernels());
  const bool either = burst.match == Match::either;
  const bool destination = judges_destination(burst.match, burst.from->side);
  for (unsigned i = 0; i < burst.count; ++i) {
    const ParsedPacket &parsed = burst.parsed[i];
    if (!parsed.is_ip() || parsed.link_local) continue;
    if (either) {
      ask(burst, 2 * i, i, parsed.source_offset);
      ask(burst, 2 * i + 1, i, parsed.destination_offset);
    } else {
      ask(burst, i, i, destination ? parsed.destination_offset : parsed.source_offset);
    }
  }
  burst.lookup.send();
}

void probe_burst(Burst &burst) noexcept {
  if (burst.image != nullptr) burst.lookup.probe_first();
}

} // namespace weir::dataplane
