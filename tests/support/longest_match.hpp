// Longest prefix match, slow and obvious: a map of prefixes, asked at every length from the longest down. And
// random prefixes that nest, touch and meet the first and the last address.
#pragma once

#include "weir/build/entry.hpp"
#include "weir/key/address.hpp"
#include "weir/table/value.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace weir::test {

inline Prefix prefix_of(const build::EntryV4 &e) { return {Address::from_host(e.host), e.length}; }
inline Prefix prefix_of(const build::EntryV6 &e) { return {Address::from_v6(e.address.data()), e.length}; }

class LongestMatch {
public:
  template <class Entry> explicit LongestMatch(const std::vector<Entry> &entries) {
    for (const Entry &e : entries) values_.emplace(prefix_of(e), table::value::make(e.list, e.length));
  }
  // The table value, 0 for none.
  [[nodiscard]] std::uint32_t find(const Address &address) const {
    for (unsigned length = address_bits(address.family) + 1; length-- > 0;)
      if (const auto found = values_.find({masked(address, length), static_cast<std::uint8_t>(length)});
          found != values_.end())
        return found->second;
    return 0;
  }

private:
  std::map<Prefix, std::uint32_t> values_;
};

inline Address last_address(const Prefix &prefix) {
  Address last = prefix.address;
  for (unsigned bit = prefix.length; bit < address_bits(prefix.family()); ++bit)
    last.bytes[bit / 8] = static_cast<std::uint8_t>(last.bytes[bit / 8] | 0x80u >> bit % 8);
  return last;
}

// The address so many behind, or before; the first address follows the last.
inline Address moved(Address address, int by) {
  int carry = by;
  for (unsigned i = address_bytes(address.family); i-- > 0;) {
    const int sum = address.bytes[i] + carry;
    address.bytes[i] = static_cast<std::uint8_t>(sum);
    carry = sum < 0 ? -1 : sum > 255 ? 1 : 0;
  }
  return address;
}

// First and last address of every prefix, and their neighbours: no range begins elsewhere.
template <class Entry> std::vector<Address> boundaries(const std::vector<Entry> &entries) {
  std::vector<Address> out;
  for (const Entry &e : entries) {
    const Prefix prefix = prefix_of(e);
    const Address last = last_address(prefix);
    for (const Address &a : {prefix.address, moved(prefix.address, -1), last, moved(last, 1)})
      out.push_back(a);
  }
  return out;
}

inline build::EntryV4 entry_of(const Prefix &prefix, std::uint16_t list, build::EntryV4 e = {}) {
  e.host = prefix.address.host();
  e.length = prefix.length;
  e.list = ListId(list);
  return e;
}
inline build::EntryV6 entry_of(const Prefix &prefix, std::uint16_t list, build::EntryV6 e) {
  std::memcpy(e.address.data(), prefix.address.bytes.data(), 16);
  e.length = prefix.length;
  e.list = ListId(list);
  return e;
}

// Entries in order, a prefix once.
template <class Entry> std::vector<Entry> in_order(std::vector<Entry> entries) {
  std::ranges::sort(entries);
  const auto same = [](const Entry &a, const Entry &b) { return prefix_of(a) == prefix_of(b); };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
  return entries;
}

// Half of them nest in one made before, or touch it; addresses crowd where few bits vary.
template <class Entry>
std::vector<Entry> random_entries(std::mt19937_64 &random, unsigned count, unsigned lists) {
  constexpr Family family = sizeof(Entry) == sizeof(build::EntryV4) ? Family::ipv4 : Family::ipv6;
  constexpr unsigned bits = address_bits(family);
  std::vector<Entry> out;
  std::vector<Prefix> made;
  const unsigned shortest = random() % 2 ? 0 : static_cast<unsigned>(random() % bits);
  while (out.size() < count) {
    Address address;
    address.family = family;
    for (unsigned i = 0; i < bits / 8; ++i)
      address.bytes[i] = static_cast<std::uint8_t>(random() % 4 ? random() : random() % 2 * 255);
    unsigned length = shortest + static_cast<unsigned>(random() % (bits + 1 - shortest));
    if (!made.empty() && random() % 4 != 0) {
      const Prefix &near = made[random() % made.size()];
      if (random() % 3 == 0) { // touches it
        address = random() % 2 ? moved(last_address(near), 1) : moved(near.address, -1);
      } else { // inside it, or around it
        const unsigned kept = random() % 4 ? near.length : static_cast<unsigned>(random() % (bits + 1));
        for (unsigned bit = 0; bit < kept; ++bit) {
          const auto mask = static_cast<std::uint8_t>(0x80u >> bit % 8);
          address.bytes[bit / 8] = static_cast<std::uint8_t>((address.bytes[bit / 8] & ~mask) |
                                                             (near.address.bytes[bit / 8] & mask));
        }
        length = std::min(bits, near.length + static_cast<unsigned>(random() % 12));
      }
    }
    const Prefix prefix{masked(address, length), static_cast<std::uint8_t>(length)};
    made.push_back(prefix);
    out.push_back(entry_of(prefix, static_cast<std::uint16_t>(random() % lists), Entry{}));
  }
  return in_order(std::move(out));
}

} // namespace weir::test
