// Which addresses are judged, and the questions about them.
#include "dataplane/packet/stages.hpp"
#include "weir/lookup/kernels/choose.hpp"

namespace weir::dataplane {
namespace {

void ask(Burst &burst, unsigned slot, unsigned packet, const ParsedPacket &header,
         std::uint16_t address_offset) noexcept {
  const std::uint8_t *address = frame_of(burst.packets[packet]) + address_offset;
  if (header.kind == PacketKind::ipv4)
    burst.lookup.ask_v4(slot, load_unaligned<std::uint32_t>(address));
  else
    burst.lookup.ask_v6(slot, address);
}

void ask_several_each(Burst &burst) noexcept {
  burst.plain = false;
  for (unsigned i = 0; i < burst.count; ++i)
    each_question(burst, i, [&](unsigned slot, const ParsedPacket &header, std::uint16_t offset) {
      ask(burst, slot, i, header, offset);
    });
}

void ask_one_each(Burst &burst) noexcept {
  const auto address =
      burst.judges_destination ? &ParsedPacket::destination_offset : &ParsedPacket::source_offset;
  for (unsigned i = 0; i < burst.count; ++i) {
    const ParsedPacket &parsed = burst.parsed_as(i);
    if (parsed.is_judged()) ask(burst, i, i, parsed, parsed.*address);
  }
}

} // namespace

void ask_burst(Burst &burst, Burst *ahead) noexcept {
  if (ahead != nullptr && ahead->image == nullptr) ahead = nullptr;
  if (burst.image == nullptr) {
    if (ahead != nullptr) ahead->lookup.probe_first();
    return;
  }
  burst.lookup.begin(burst.image->view_of(burst.image_copy), lookup::best_kernels());
  if (burst.questions() != 1)
    ask_several_each(burst);
  else if (burst.plain)
    burst.lookup.ask_all(burst.judged, burst.count - burst.count_v6(), burst.judged_v6, burst.count_v6());
  else
    ask_one_each(burst);
  if (ahead != nullptr)
    burst.lookup.send_behind(ahead->lookup);
  else
    burst.lookup.send();
}

void probe_burst(Burst &burst) noexcept {
  if (burst.image != nullptr) burst.lookup.probe_first();
}

} // namespace weir::dataplane
