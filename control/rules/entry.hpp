// Between the two shapes of a rule: Prefix, as people and messages have it, and the packed entries
// that lists, the effective state and the image builder hold by the million.
//
// In a list's content the `list` field is 0; normalise() fills it. Order is by address, then
// length, so a prefix stands before everything that it covers.
#pragma once

#include "weir/build/entry.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <span>

namespace weir::rules {

using build::EntryV4;
using build::EntryV6;

// The place of an IPv4 entry in the order as one number; the list number takes no part.
[[nodiscard]] constexpr std::uint64_t order_key(const EntryV4 &e) noexcept {
  return std::uint64_t{e.host} << 8 | e.length;
}

[[nodiscard]] constexpr bool same_prefix(const EntryV4 &a, const EntryV4 &b) noexcept {
  return order_key(a) == order_key(b);
}
[[nodiscard]] inline bool same_prefix(const EntryV6 &a, const EntryV6 &b) noexcept {
  return a.address == b.address && a.length == b.length;
}

[[nodiscard]] constexpr bool before(const EntryV4 &a, const EntryV4 &b) noexcept {
  return order_key(a) < order_key(b);
}
[[nodiscard]] inline bool before(const EntryV6 &a, const EntryV6 &b) noexcept {
  const int order = std::memcmp(a.address.data(), b.address.data(), a.address.size());
  return order != 0 ? order < 0 : a.length < b.length;
}

// True when every address of `inner` is an address of `outer`.
[[nodiscard]] constexpr bool covers(const EntryV4 &outer, const EntryV4 &inner) noexcept {
  if (inner.length < outer.length) return false;
  return outer.length == 0 || ((outer.host ^ inner.host) >> (32 - outer.length)) == 0;
}
[[nodiscard]] inline bool covers(const EntryV6 &outer, const EntryV6 &inner) noexcept {
  if (inner.length < outer.length) return false;
  const unsigned whole = outer.length / 8, rest = outer.length % 8;
  if (std::memcmp(outer.address.data(), inner.address.data(), whole) != 0) return false;
  return rest == 0 || ((outer.address[whole] ^ inner.address[whole]) >> (8 - rest)) == 0;
}

[[nodiscard]] inline Prefix to_prefix(const EntryV4 &e) noexcept {
  return {Address::from_host(e.host), e.length};
}
[[nodiscard]] inline Prefix to_prefix(const EntryV6 &e) noexcept {
  return {Address::from_v6(e.address.data()), e.length};
}

// The prefix must be of the entry's family.
[[nodiscard]] inline EntryV4 to_entry_v4(const Prefix &p) noexcept {
  return {.host = p.address.host(), .length = p.length};
}
[[nodiscard]] inline EntryV6 to_entry_v6(const Prefix &p) noexcept {
  return {.address = p.address.bytes, .length = p.length};
}

// Is the prefix itself (not one that covers it) in the sorted entries?
template <class Entry>
[[nodiscard]] bool contains(std::span<const Entry> sorted, const Entry &wanted) noexcept {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), wanted,
                                   [](const Entry &a, const Entry &b) { return before(a, b); });
  return at != sorted.end() && same_prefix(*at, wanted);
}

} // namespace weir::rules
