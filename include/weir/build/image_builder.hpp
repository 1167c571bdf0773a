// Rules to image. Cold: used by control and tests, never by workers.
//
// Input is the effective state: for each side and family the prefixes, sorted and unique, each with
// the number of the list that names it. The same input and seed give the same bytes.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/layout.hpp"
#include "weir/key/address.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::build {

struct EntryV4 {          // sorted by (host, length)
  std::uint32_t host = 0; // masked, as a number
  std::uint8_t length = 32;
  std::uint8_t reserved = 0;
  std::uint16_t list = 0;
  friend constexpr auto operator<=>(const EntryV4 &, const EntryV4 &) = default;
};
static_assert(sizeof(EntryV4) == 8);

struct EntryV6 { // sorted by (address, length)
  std::array<std::uint8_t, 16> address{};
  std::uint8_t length = 128;
  std::uint8_t reserved = 0;
  std::uint16_t list = 0;
  friend constexpr auto operator<=>(const EntryV6 &, const EntryV6 &) = default;
};
static_assert(sizeof(EntryV6) == 20);

struct SideInput {
  std::span<const EntryV4> v4;
  std::span<const EntryV6> v6;
  bool front_filter = false; // split-block Bloom in front of the tables
};

struct ListInput {
  std::string name;
  std::uint16_t number = 0;
  image::Side side = image::Side::deny;
};

struct BuildInput {
  Policy policy;
  std::vector<ListInput> lists;
  SideInput deny;
  SideInput allow;
  std::uint64_t generation = 0;
  image::StoreId store_id{};
  std::uint64_t sequence = 0;
  std::uint64_t seed = 0;
  image::Digest rules_digest{};
};

struct TableReport {
  std::uint64_t keys = 0, in_table2 = 0, in_stash = 0, group_bits_set = 0, bytes = 0;
  double load = 0;                        // keys / slots of both tables
  double lines_hit = 1, lines_absent = 1; // expected lines per lookup, from the tables as built
};

struct BuildReport {
  std::uint64_t image_bytes = 0;
  TableReport deny_v4, deny_v6, allow_v4, allow_v6;
  double build_ms = 0, verify_ms = 0;
  std::uint64_t keys_verified = 0;
};

// Exact bytes the image will take; nothing else is needed to allocate it.
[[nodiscard]] Result<std::uint64_t> image_bytes(const BuildInput &input);

// Fills `out` (zeroed, 64-byte aligned, at least image_bytes()) and then asks every key through the
// real view. Faults: unsorted or duplicate input, values out of range, too many lists.
[[nodiscard]] Result<BuildReport> build_image(const BuildInput &input, MutableBytes out);

} // namespace weir::build
