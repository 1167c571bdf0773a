// Frames for tests, layer by layer. Each layer patches the type or protocol field of the one before
// it, so that a frame is right unless a test makes it wrong:
//
//   FrameBuilder().ethernet().vlan(100).ipv4({.source = "10.0.0.7"}).udp(1024, 53).payload(32).frame()
//
// Lengths that headers announce are filled in by frame(), unless a test gave them. Checksums stay
// zero: weir does not look at them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

struct Frame {
  std::vector<std::uint8_t> bytes;  // captured
  std::uint32_t original_bytes = 0; // on the wire
  std::int64_t timestamp_ns = 0;

  friend bool operator==(const Frame &, const Frame &) = default;
};

struct Ipv4Fields {
  std::string source = "192.0.2.1";
  std::string destination = "198.51.100.1";
  unsigned ttl = 64;
  unsigned options_words = 0;   // 32-bit words of padding options
  unsigned fragment_offset = 0; // in units of eight bytes
  bool more_fragments = false;
  std::optional<unsigned> protocol{}; // default: what follows
  std::optional<unsigned> version{};
  std::optional<unsigned> ihl{};
  std::optional<unsigned> total_length{};
};

struct Ipv6Fields {
  std::string source = "2001:db8::1";
  std::string destination = "2001:db8:ffff::1";
  unsigned hop_limit = 64;
  std::vector<unsigned> extensions{};    // next header numbers: 0, 43, 44, 60
  std::optional<unsigned> next_header{}; // of the last header; default: what follows
  std::optional<unsigned> version{};
  std::optional<unsigned> payload_length{};
};

class FrameBuilder {
public:
  FrameBuilder &ethernet(std::optional<unsigned> type = {});
  FrameBuilder &vlan(unsigned id, unsigned tag_type = 0x8100);
  FrameBuilder &ipv4(const Ipv4Fields &fields = {});
  FrameBuilder &ipv6(const Ipv6Fields &fields = {});
  FrameBuilder &udp(unsigned source_port, unsigned destination_port);
  FrameBuilder &tcp(unsigned source_port, unsigned destination_port, unsigned flags = 0x02);
  FrameBuilder &icmp(unsigned type, unsigned code = 0);
  FrameBuilder &icmp6(unsigned type, unsigned code = 0);
  FrameBuilder &arp(std::string_view sender, std::string_view target);
  FrameBuilder &mpls(unsigned label);
  FrameBuilder &pppoe();
  FrameBuilder &llc();
  // In front of it stands the length of what follows, unless one is given; behind it a layer or `type`.
  FrameBuilder &snap(unsigned organisation = 0, std::optional<unsigned> type = {},
                     std::optional<unsigned> length = {});
  // Checksum, key and sequence number as the flags say; an IP header or ethernet() follows.
  FrameBuilder &gre(unsigned flags = 0, std::optional<unsigned> type = {});
  FrameBuilder &vxlan(unsigned flags = 0x08); // behind udp(); ethernet() follows
  FrameBuilder &payload(std::size_t bytes, std::uint8_t fill = 0x5A);
  FrameBuilder &raw(std::span<const std::uint8_t> bytes);

  // `cut`: keep only so many captured bytes; the original length stays.
  [[nodiscard]] Frame frame(std::optional<std::size_t> cut = {}) const;

private:
  void put(unsigned value, std::size_t bytes);
  void set16(std::size_t at, unsigned value);
  void follows(unsigned ethertype, std::optional<unsigned> protocol);
  void put_address(std::string_view text, std::size_t bytes);

  struct Length { // a 16-bit field that announces what comes after `from`
    std::size_t at = 0, from = 0;
  };

  std::vector<std::uint8_t> bytes_;
  std::optional<std::size_t> type_at_;     // EtherType still to be known
  std::optional<std::size_t> protocol_at_; // protocol or next header still to be known
  std::vector<Length> lengths_;
};

} // namespace weir::test
