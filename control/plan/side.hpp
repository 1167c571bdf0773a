// What a side of the rules holds, asked one by one.
#pragma once

#include "control/rules/entry.hpp"
#include "weir/build/input.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir::plan {

[[nodiscard]] inline std::uint64_t hosts_of(const build::SideInput &side) noexcept {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(side.v4, [](const build::EntryV4 &e) { return e.length == 32; }) +
      std::ranges::count_if(side.v6, [](const build::EntryV6 &e) { return e.length == 128; }));
}

// Is the prefix itself a key of the side?
[[nodiscard]] inline bool holds(const build::SideInput &side, const Prefix &p) noexcept {
  return p.family() == Family::ipv4 ? rules::contains(side.v4, rules::to_entry_v4(p))
                                    : rules::contains(side.v6, rules::to_entry_v6(p));
}

// Is there a key that covers the address?
class Covers {
public:
  explicit Covers(const build::SideInput &side) : side_(side) {
    for (const build::EntryV4 &e : side.v4) lengths_[0][e.length] = true;
    for (const build::EntryV6 &e : side.v6) lengths_[1][e.length] = true;
  }

  [[nodiscard]] bool operator()(const Address &address) const noexcept {
    const auto &lengths = lengths_[address.family == Family::ipv6 ? 1 : 0];
    for (unsigned l = 0; l <= address_bits(address.family); ++l)
      if (lengths[l] && holds(side_, {masked(address, l), static_cast<std::uint8_t>(l)})) return true;
    return false;
  }

private:
  build::SideInput side_;
  std::array<std::array<bool, 129>, 2> lengths_{};
};

} // namespace weir::plan
