// Header bytes: whatever the frame says, nothing beyond its end is read, and what the parser
// promises about offsets holds.
#include "weir/key/parse.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "weir/key/tunnel.hpp"

using weir::fuzz::require;

namespace {

template <unsigned tags>
void require_plain(const std::uint8_t *bytes, std::size_t captured, const weir::ParsedPacket &packet) {
  if (weir::is_plain_ipv4<tags>(bytes, captured))
    require(packet == weir::plain_ipv4<tags>, "what is called plain IPv4 is parsed as such");
  if (weir::is_plain_ipv6<tags>(bytes, captured))
    require(packet == weir::plain_ipv6<tags>, "what is called plain IPv6 is parsed as such");
}

} // namespace

FUZZ_TARGET(parse, data) {
  const auto frame = weir::fuzz::exact_copy(data);
  const weir::ParsedPacket packet = weir::parse_packet(weir::Bytes(frame));

  require(packet.tags <= 8, "at most eight tags are stepped over");
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(frame.data());
  require_plain<0>(bytes, frame.size(), packet);
  require_plain<1>(bytes, frame.size(), packet);
  if (!packet.is_ip()) {
    require(!packet.link_local, "only IP is link local");
    return;
  }
  const std::size_t address_bytes = packet.kind == weir::PacketKind::ipv4 ? 4 : 16;
  const int behind_tags = packet.header_offset - 14 - 4 * packet.tags;
  require(behind_tags == 0 || behind_tags == 8, "the header follows Ethernet, the tags and perhaps SNAP");
  require(packet.source_offset + address_bytes <= frame.size(), "the source lies in the frame");
  require(packet.destination_offset + address_bytes <= frame.size(), "the destination lies in the frame");
  require(packet.destination_offset == packet.source_offset + address_bytes, "destination follows source");

  const weir::Address source = weir::address_at(packet, bytes, packet.source_offset);
  require(weir::address_bits(source.family) == address_bytes * 8, "the address is of the packet's family");

  const weir::ParsedPacket inside = weir::look_inside(bytes, frame.size(), packet);
  if (inside.is_ip()) {
    const std::size_t inner_bytes = inside.kind == weir::PacketKind::ipv4 ? 4 : 16;
    require(inside.source_offset >= packet.destination_offset + address_bytes, "what is inside comes behind");
    require(inside.destination_offset == inside.source_offset + inner_bytes, "destination follows source");
    require(inside.destination_offset + inner_bytes <= frame.size(), "what is inside lies in the frame");
  }
  if (weir::is_plain_ipv4<0>(bytes, frame.size()) && !weir::may_carry(bytes, frame.size()))
    require(inside.kind == weir::PacketKind::non_ip, "plain packets that carry nothing are told apart");

  // The same frame cut before the end of its addresses is never taken for IP.
  const std::size_t cut = packet.destination_offset + address_bytes - 1;
  const auto shorter = weir::fuzz::exact_copy(data.first(cut));
  require(!weir::parse_packet(weir::Bytes(shorter)).is_ip(), "a header cut short is not IP");
}
