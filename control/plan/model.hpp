// How many cache lines a lookup in an inline_bits table touches on average, from its size alone.
//
// Table 1 throws keys on lines at random, so the keys that want one line are Poisson distributed.
// A line with more keys than slots gives up whole groups to table 2 (build/table_builder.hpp): a
// lookup of such a key, and of an absent key of such a group, reads a second line.
#pragma once

#include <cstdint>

namespace weir::plan {

struct TableShape {
  std::uint64_t keys = 0;
  std::uint64_t lines1 = 0; // lines of table 1
  unsigned slots = 8;       // keys a line
  unsigned groups = 8;      // group bits a line
};

struct ExpectedLines {
  double hit = 0, absent = 0; // lines a lookup; 0 without keys
};

[[nodiscard]] ExpectedLines expected_lines(const TableShape &shape);

} // namespace weir::plan
