// Addresses and prefixes to and from text. Strict: what is accepted means exactly what it says.
#pragma once

#include "weir/base/result.hpp"
#include "weir/key/address.hpp"

#include <arpa/inet.h>

#include <cstdio>
#include <expected>
#include <string>
#include <string_view>

namespace weir {

// Why a piece of text is not an address or prefix: a fragment for the end of a message.
using ParseFault = const char *;

namespace detail {

// Reads one decimal number of at most `limit` without leading zeros from the front of `text`.
[[nodiscard]] inline bool take_number(std::string_view &text, unsigned limit, unsigned &out) noexcept {
  std::size_t used = 0;
  unsigned value = 0;
  while (used < text.size() && text[used] >= '0' && text[used] <= '9') {
    value = value * 10 + static_cast<unsigned>(text[used] - '0');
    if (value > limit || ++used > 3) return false;
  }
  if (used == 0 || (used > 1 && text[0] == '0')) return false;
  text.remove_prefix(used);
  out = value;
  return true;
}

[[nodiscard]] inline bool take_ipv4(std::string_view &text, std::uint32_t &host) noexcept {
  std::uint32_t value = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text.front() != '.') return false;
      text.remove_prefix(1);
    }
    unsigned number = 0;
    if (!take_number(text, 255, number)) return false;
    value = value << 8 | number;
  }
  host = value;
  return true;
}

} // namespace detail

// Four decimal numbers without leading zeros, or RFC 4291 text without zone or brackets.
[[nodiscard]] inline std::expected<Address, ParseFault> parse_address(std::string_view text) {
  if (text.find(':') == std::string_view::npos) {
    std::uint32_t host = 0;
    if (!detail::take_ipv4(text, host) || !text.empty())
      return std::unexpected("not an IPv4 or IPv6 address");
    return Address::from_host(host);
  }
  char buffer[INET6_ADDRSTRLEN] = {};
  std::uint8_t bytes[16];
  if (text.size() >= sizeof buffer) return std::unexpected("not an IPv6 address");
  text.copy(buffer, text.size());
  if (inet_pton(AF_INET6, buffer, bytes) != 1) return std::unexpected("not an IPv6 address");
  return Address::from_v6(bytes);
}

// An address (a host) or address/length. Bits set beyond the length are a fault, never masked
// away: a list that says 10.0.0.5/8 has an error that somebody should look at.
[[nodiscard]] inline std::expected<Prefix, ParseFault> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = TRY(parse_address(text.substr(0, slash)));
  const unsigned limit = address_bits(address.family);
  unsigned length = limit;
  if (slash != std::string_view::npos) {
    std::string_view rest = text.substr(slash + 1);
    if (!detail::take_number(rest, limit, length) || !rest.empty())
      return std::unexpected(limit == 32 ? "the prefix length must be 0 to 32"
                                         : "the prefix length must be 0 to 128");
  }
  if (masked(address, length) != address)
    return std::unexpected("address bits are set beyond the prefix length");
  return Prefix{address, static_cast<std::uint8_t>(length)};
}

[[nodiscard]] inline std::string to_string(const Address &address) {
  char buffer[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.family == Family::ipv4 ? AF_INET : AF_INET6, address.bytes.data(), buffer, sizeof buffer);
  return buffer;
}

// Hosts are written without "/32" or "/128".
[[nodiscard]] inline std::string to_string(const Prefix &prefix) {
  std::string text = to_string(prefix.address);
  if (!prefix.is_host()) text += '/' + std::to_string(prefix.length);
  return text;
}

} // namespace weir
