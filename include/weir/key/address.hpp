// Addresses and prefixes as people write them and as tables store them.
//
// An Address keeps its bytes in network order, an IPv4 address in the first four with the rest
// zero. A Prefix is an address masked to its length; (10.0.0.0, 8) and (10.0.0.0, 16) are
// different keys. Ordering is by family, bytes, length: a prefix sorts before what it covers.
#pragma once

#include "weir/base/bits.hpp"

#include <array>
#include <compare>
#include <cstdint>

namespace weir {

enum class Family : std::uint8_t { ipv4 = 4, ipv6 = 6 };

[[nodiscard]] constexpr unsigned address_bits(Family family) noexcept {
  return family == Family::ipv4 ? 32 : 128;
}
[[nodiscard]] constexpr unsigned address_bytes(Family family) noexcept { return address_bits(family) / 8; }

struct Address {
  Family family = Family::ipv4;
  std::array<std::uint8_t, 16> bytes{};

  friend constexpr auto operator<=>(const Address &, const Address &) = default;

  // The four bytes of an IPv4 address as a packet load gives them.
  [[nodiscard]] std::uint32_t wire() const noexcept { return load_unaligned<std::uint32_t>(bytes.data()); }
  // The same as a number: 10.0.0.1 is 0x0A000001.
  [[nodiscard]] std::uint32_t host() const noexcept { return byteswap32(wire()); }

  [[nodiscard]] static Address from_wire(std::uint32_t wire) noexcept {
    Address a;
    std::memcpy(a.bytes.data(), &wire, sizeof wire);
    return a;
  }
  [[nodiscard]] static Address from_host(std::uint32_t host) noexcept { return from_wire(byteswap32(host)); }
  [[nodiscard]] static Address from_v6(const void *sixteen_bytes) noexcept {
    Address a;
    a.family = Family::ipv6;
    std::memcpy(a.bytes.data(), sixteen_bytes, 16);
    return a;
  }
};

// The mask of an IPv4 prefix length in wire order: ANDs directly with a packet load.
[[nodiscard]] constexpr std::uint32_t wire_mask_v4(unsigned length) noexcept {
  return length == 0 ? 0 : byteswap32(~std::uint32_t{0} << (32 - length));
}

[[nodiscard]] constexpr Address masked(Address address, unsigned length) noexcept {
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned kept = length > i * 8 ? length - i * 8 : 0;
    if (kept < 8) address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] & (0xFF00u >> kept));
  }
  return address;
}

struct Prefix {
  Address address; // bits beyond `length` are zero
  std::uint8_t length = 0;

  friend constexpr auto operator<=>(const Prefix &, const Prefix &) = default;

  [[nodiscard]] constexpr Family family() const noexcept { return address.family; }
  [[nodiscard]] constexpr bool is_host() const noexcept { return length == address_bits(address.family); }
  [[nodiscard]] constexpr bool covers(const Address &a) const noexcept {
    return a.family == address.family && masked(a, length) == address;
  }
  [[nodiscard]] constexpr bool covers(const Prefix &p) const noexcept {
    return p.length >= length && covers(p.address);
  }
};

} // namespace weir
