// The keys of entries, as tables and filters have them.
#pragma once

#include "weir/build/entry.hpp"
#include "weir/build/input.hpp"
#include "weir/key/address.hpp"
#include "weir/table/length_map.hpp"
#include "weir/table/line.hpp"

#include <cstdint>
#include <type_traits>

namespace weir::build::detail {

[[nodiscard]] inline Address address_of(const EntryV4 &e) noexcept { return Address::from_host(e.host); }
[[nodiscard]] inline Address address_of(const EntryV6 &e) noexcept {
  return Address::from_v6(e.address.data());
}
[[nodiscard]] inline std::uint32_t key_of(const EntryV4 &e) noexcept { return byteswap32(e.host); }
[[nodiscard]] inline table::KeyV6 key_of(const EntryV6 &e) noexcept {
  return table::KeyV6::load(e.address.data());
}

[[nodiscard]] inline bool is_host(const EntryV4 &e) noexcept { return e.length == 32; }
[[nodiscard]] inline bool is_host(const EntryV6 &e) noexcept { return e.length == 128; }

[[nodiscard]] inline KeyHash hash_of(const Prefix &p, table::KeyHasher hasher) noexcept {
  return p.family() == Family::ipv4 ? hasher(p.address.wire(), p.length)
                                    : hasher(table::KeyV6::load(p.address.bytes.data()), p.length);
}

// Of which families a table is asked for hosts alone, since a range map has the prefixes.
struct HostsAlone {
  bool v4 = false, v6 = false;
};

// What the filter in front of the allow tables holds: everything that a worker may ask a table for.
[[nodiscard]] inline bool is_guarded_key(const EntryV4 &e, HostsAlone hosts_alone) noexcept {
  return is_host(e) ||
         (!hosts_alone.v4 && e.length > table::short_length_max); // shorter ones: the length map
}
[[nodiscard]] inline bool is_guarded_key(const EntryV6 &e, HostsAlone hosts_alone) noexcept {
  return is_host(e) || !hosts_alone.v6;
}
void for_each_guarded_key(const SideInput &allow, HostsAlone hosts_alone, table::KeyHasher hasher,
                          const auto &visit) {
  for (const EntryV4 &e : allow.v4)
    if (is_guarded_key(e, hosts_alone)) visit(hasher(key_of(e), e.length));
  for (const EntryV6 &e : allow.v6)
    if (is_guarded_key(e, hosts_alone)) visit(hasher(key_of(e), e.length));
}

// By address, then by length.
template <class Entry> [[nodiscard]] bool same_prefix_order(const Entry &a, const Entry &b) noexcept {
  if constexpr (std::is_same_v<Entry, EntryV4>)
    return a.host < b.host || (a.host == b.host && a.length < b.length);
  else
    return a.address < b.address || (a.address == b.address && a.length < b.length);
}

} // namespace weir::build::detail
