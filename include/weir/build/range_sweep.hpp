// Nested prefixes into ranges side by side: a sweep over the sorted prefixes with a stack of those that are open.
//
//   10.0.0.0/8  list A   |----------------------------------------|
//   10.1.0.0/16 list B            |-------------|
//   10.1.2.0/24 list A                |----|
//   ranges               |  A/8   | B | A/24 | B |     A/8        |  none ...
//
// A range begins at its address and ends where the next one begins; the first begins at the first address of
// all. Neighbours of one answer are one range. Answers are numbers of a dictionary of pairs of list and length,
// in the order in which the sweep meets them; number 0 is the value of /0, or "no match".
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/entry.hpp"
#include "weir/table/range_windows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

struct RangeV4 {
  std::uint32_t first;
  std::uint16_t value;
  friend constexpr bool operator==(const RangeV4 &, const RangeV4 &) = default;
};

using table::AddressV6, table::RangeV6;

template <class Range, class Covering> struct Ranges {
  std::vector<Range> ranges;
  std::vector<std::uint32_t> values{0}; // the dictionary: table values
  std::vector<Covering> covering;       // prefixes of one bit and more with longer ones inside
};
using RangesV4 = Ranges<RangeV4, table::CoveringV4>;
using RangesV6 = Ranges<RangeV6, table::CoveringV6>;

// Errors: entries that are not sorted by (address, length), or have bits beyond their length; of the same
// prefix the first counts. More than 16,383 pairs of list and length.
[[nodiscard]] Result<RangesV4> sweep(std::span<const EntryV4> entries);
[[nodiscard]] Result<RangesV6> sweep(std::span<const EntryV6> entries);

} // namespace weir::build
