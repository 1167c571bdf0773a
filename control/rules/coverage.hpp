// How many addresses lists cover. An address counts once, however many prefixes of however many lists hold
// it, so four prefixes of length 2 cover all of IPv4 and a host inside one of them adds nothing.
//
// One pass over entries in their order (entry.hpp): a prefix stands before everything that it covers, so an
// entry either lies inside the last one counted or behind it. Nothing is kept but one place a list, and ten
// million entries take a few hundredths of a second.
#pragma once

#include "control/rules/entry.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace weir::rules {

__extension__ using AddressCount = unsigned __int128;
[[nodiscard]] constexpr AddressCount saturated_sum(AddressCount a, AddressCount b) noexcept {
  return a + b < a ? ~AddressCount{0} : a + b;
}

// All addresses of IPv6 are one more than fit: they count as 2^128 - 1.
struct Covered {
  std::uint64_t v4 = 0;
  AddressCount v6 = 0;

  [[nodiscard]] double share_v4() const noexcept { return static_cast<double>(v4) * 0x1p-32; }
  [[nodiscard]] double share_v6() const noexcept { return static_cast<double>(v6) * 0x1p-128; }
  friend bool operator==(const Covered &, const Covered &) = default;
};

// Entries of one list, sorted and unique, less those that `named` has too.
struct Entries {
  std::span<const EntryV4> v4{};
  std::span<const EntryV6> v6{};
  std::span<const EntryV4> named_v4{};
  std::span<const EntryV6> named_v6{};
};

// What the lists cover together.
[[nodiscard]] Covered covered_by(std::span<const Entries> lists);
[[nodiscard]] inline Covered covered_by(const Entries &list) { return covered_by({&list, 1}); }

// "16,777,216 IPv4 addresses (0.39%)" and "1.50 times an IPv6 /20 (0.00014%)".
[[nodiscard]] std::string covered_text_v4(double addresses);
[[nodiscard]] std::string covered_text_v6(double addresses);

} // namespace weir::rules
