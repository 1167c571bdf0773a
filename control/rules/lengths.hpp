// Which prefix lengths entries have: a question about an address asks for these and no others.
#pragma once

#include "control/rules/coverage.hpp"
#include "weir/key/address.hpp"

#include <bitset>

namespace weir::rules {

class Lengths {
public:
  void add(Family family, unsigned length) { of(family).set(length); }
  void add(const Entries &entries) {
    for (const EntryV4 &entry : entries.v4) v4_.set(entry.length);
    for (const EntryV6 &entry : entries.v6) v6_.set(entry.length);
  }
  void add(const Lengths &other) {
    v4_ |= other.v4_;
    v6_ |= other.v6_;
  }
  [[nodiscard]] bool has(Family family, unsigned length) const { return of(family).test(length); }

  // Whether `holds` is true of one of the prefixes around the address, hosts first.
  [[nodiscard]] bool any_around(const Address &address, const auto &holds) const {
    for (unsigned length = address_bits(address.family) + 1; length-- > 0;)
      if (has(address.family, length) &&
          holds(Prefix{masked(address, length), static_cast<std::uint8_t>(length)}))
        return true;
    return false;
  }

private:
  using Bits = std::bitset<address_bits(Family::ipv6) + 1>;
  [[nodiscard]] Bits &of(Family family) { return family == Family::ipv6 ? v6_ : v4_; }
  [[nodiscard]] const Bits &of(Family family) const { return family == Family::ipv6 ? v6_ : v4_; }
  Bits v4_, v6_;
};

} // namespace weir::rules
