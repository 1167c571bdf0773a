#include "tests/support/packets.hpp"

#include "weir/key/text.hpp"

#include <stdexcept>

namespace weir::test {

void FrameBuilder::put(unsigned value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void FrameBuilder::set16(std::size_t at, unsigned value) {
  bytes_[at] = static_cast<std::uint8_t>(value >> 8);
  bytes_[at + 1] = static_cast<std::uint8_t>(value);
}

// Tells the header before what comes now.
void FrameBuilder::follows(unsigned ethertype, std::optional<unsigned> protocol) {
  if (type_at_ && ethertype != 0) set16(*type_at_, ethertype);
  if (protocol_at_ && protocol) bytes_[*protocol_at_] = static_cast<std::uint8_t>(*protocol);
  type_at_.reset();
  protocol_at_.reset();
}

void FrameBuilder::put_address(std::string_view text, std::size_t bytes) {
  const auto address = parse_address(text);
  if (!address || address_bytes(address->family) != bytes)
    throw std::invalid_argument(std::string(text) + " is not an address of " + std::to_string(bytes) +
                                " bytes");
  bytes_.insert(bytes_.end(), address->bytes.begin(),
                address->bytes.begin() + static_cast<std::ptrdiff_t>(bytes));
}

FrameBuilder &FrameBuilder::ethernet(std::optional<unsigned> type) {
  follows(0x6558, {}); // in GRE
  for (const unsigned host : {2u, 1u}) {
    put(0x0200, 2);
    put(host, 4);
  }
  if (!type) type_at_ = bytes_.size();
  put(type.value_or(0x88B5), 2); // local experimental, unless a layer says otherwise
  return *this;
}

FrameBuilder &FrameBuilder::vlan(unsigned id, unsigned tag_type) {
  follows(tag_type, {});
  put(id, 2);
  type_at_ = bytes_.size();
  put(0x88B5, 2);
  return *this;
}

FrameBuilder &FrameBuilder::ipv4(const Ipv4Fields &fields) {
  follows(0x0800, 4);
  const std::size_t start = bytes_.size();
  const unsigned words = 5 + fields.options_words;
  put(fields.version.value_or(4) << 4 | fields.ihl.value_or(words), 1);
  put(0, 1);
  if (!fields.total_length) lengths_.push_back({bytes_.size(), start});
  put(fields.total_length.value_or(0), 2);
  put(0x1234, 2);
  put((fields.more_fragments ? 0x2000u : 0u) | fields.fragment_offset, 2);
  put(fields.ttl, 1);
  if (!fields.protocol) protocol_at_ = bytes_.size();
  put(fields.protocol.value_or(253), 1);
  put(0, 2);
  put_address(fields.source, 4);
  put_address(fields.destination, 4);
  bytes_.insert(bytes_.end(), 4 * fields.options_words, 0x01);
  return *this;
}

FrameBuilder &FrameBuilder::ipv6(const Ipv6Fields &fields) {
  follows(0x86DD, 41);
  put(fields.version.value_or(6) << 28, 4);
  if (!fields.payload_length) lengths_.push_back({bytes_.size(), bytes_.size() + 36});
  put(fields.payload_length.value_or(0), 2);
  std::size_t next_at = bytes_.size();
  put(59, 1);
  put(fields.hop_limit, 1);
  put_address(fields.source, 16);
  put_address(fields.destination, 16);
  for (const unsigned kind : fields.extensions) {
    bytes_[next_at] = static_cast<std::uint8_t>(kind);
    next_at = bytes_.size();
    put(59, 1);
    put(0, 1); // eight bytes long
    put(kind == 44 ? 0x0001 : 0x0104, 2);
    put(0, 4);
  }
  if (fields.next_header)
    bytes_[next_at] = static_cast<std::uint8_t>(*fields.next_header);
  else
    protocol_at_ = next_at;
  return *this;
}

FrameBuilder &FrameBuilder::udp(unsigned source_port, unsigned destination_port) {
  follows(0, 17);
  put(source_port, 2);
  put(destination_port, 2);
  lengths_.push_back({bytes_.size(), bytes_.size() - 4});
  put(0, 4);
  return *this;
}

FrameBuilder &FrameBuilder::tcp(unsigned source_port, unsigned destination_port, unsigned flags) {
  follows(0, 6);
  put(source_port, 2);
  put(destination_port, 2);
  put(1, 4);
  put(0, 4);
  put(0x5000 | flags, 2);
  put(65535, 2);
  put(0, 4);
  return *this;
}

FrameBuilder &FrameBuilder::icmp(unsigned type, unsigned code) {
  follows(0, 1);
  put(type, 1);
  put(code, 1);
  put(0, 2);
  put(0, 4);
  return *this;
}

FrameBuilder &FrameBuilder::icmp6(unsigned type, unsigned code) {
  follows(0, 58);
  put(type, 1);
  put(code, 1);
  put(0, 2);
  put(0, 4);
  return *this;
}

FrameBuilder &FrameBuilder::arp(std::string_view sender, std::string_view target) {
  follows(0x0806, {});
  put(1, 2);
  put(0x0800, 2);
  put(0x0604, 2);
  put(1, 2);
  put(0x0200, 2);
  put(1, 4);
  put_address(sender, 4);
  put(0, 2);
  put(0, 4);
  put_address(target, 4);
  return *this;
}

FrameBuilder &FrameBuilder::mpls(unsigned label) {
  follows(0x8847, {});
  put(label << 12 | 1 << 8 | 64, 4); // bottom of stack; IP may follow and is not looked into
  return *this;
}

FrameBuilder &FrameBuilder::pppoe() {
  follows(0x8864, {});
  put(0x1100, 2);
  put(1, 2);
  lengths_.push_back({bytes_.size(), bytes_.size() + 2});
  put(0, 2);
  put(0x0021, 2); // IPv4 in PPP
  return *this;
}

FrameBuilder &FrameBuilder::llc() {
  if (type_at_) lengths_.push_back({*type_at_, *type_at_ + 2});
  type_at_.reset();
  put(0x424203, 3); // spanning tree
  return *this;
}

FrameBuilder &FrameBuilder::snap(unsigned organisation, std::optional<unsigned> type,
                                 std::optional<unsigned> length) {
  if (type_at_ && length) set16(*type_at_, *length);
  if (type_at_ && !length) lengths_.push_back({*type_at_, *type_at_ + 2});
  type_at_.reset();
  put(0xAAAA03, 3);
  put(organisation, 3);
  if (!type) type_at_ = bytes_.size();
  put(type.value_or(0x88B5), 2);
  return *this;
}

FrameBuilder &FrameBuilder::gre(unsigned flags, std::optional<unsigned> type) {
  follows(0, 47);
  put(flags, 2);
  if (!type) type_at_ = bytes_.size();
  put(type.value_or(0x88B5), 2);
  for (const unsigned option : {0x8000u, 0x2000u, 0x1000u})
    if (flags & option) put(0x01020304, 4);
  return *this;
}

FrameBuilder &FrameBuilder::vxlan(unsigned flags) {
  put(flags << 24, 4);
  put(77 << 8, 4);
  return *this;
}

FrameBuilder &FrameBuilder::payload(std::size_t bytes, std::uint8_t fill) {
  bytes_.insert(bytes_.end(), bytes, fill);
  return *this;
}

FrameBuilder &FrameBuilder::raw(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Frame FrameBuilder::frame(std::optional<std::size_t> cut) const {
  FrameBuilder done = *this;
  for (const Length &length : lengths_)
    done.set16(length.at, static_cast<unsigned>(std::min<std::size_t>(bytes_.size() - length.from, 0xFFFF)));
  Frame frame{.bytes = std::move(done.bytes_)};
  frame.original_bytes = static_cast<std::uint32_t>(frame.bytes.size());
  if (cut && *cut < frame.bytes.size()) frame.bytes.resize(*cut);
  return frame;
}

} // namespace weir::test
