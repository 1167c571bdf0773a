// An exact table: (address, length) -> value in one cache line for most keys.
//
// Two arrays of lines; a key has one bucket in each. Table 1 takes about nine keys of ten; the
// group bits of its line say whether a key of one's group went to table 2, so most absent keys end
// after one line as well. A small stash after table 2 makes every build succeed; its keys set their
// group bit too and are looked for only after a miss in table 2, in as many lines as so many keys fill.
//
//   hash --high half--> table 1 line --match--> value
//        \                  | no match, group bit set
//         --low half--> table 2 line --match--> value
//                           | no match, stash in use
//                        stash lines
//
// Errors: none. A view never allocates, throws or writes.
#pragma once

#include "weir/table/line.hpp"

namespace weir::table {

template <class LineType> struct TableView {
  using Line = LineType;
  using Key = typename Line::Key;

  const Line *lines1 = nullptr;
  const Line *lines2 = nullptr;
  const Line *stash = nullptr;
  const std::uint32_t *stash_keys = nullptr; // how many keys the stash holds; grows under readers
  std::uint32_t count1 = 0, count2 = 0, stash_lines = 0;

  [[nodiscard]] const Line &line1(KeyHash h) const noexcept { return lines1[reduce(half1(h), count1)]; }
  [[nodiscard]] const Line &line2(KeyHash h) const noexcept { return lines2[reduce(half2(h), count2)]; }

  void prefetch1(KeyHash h) const noexcept { __builtin_prefetch(&line1(h)); }
  void prefetch2(KeyHash h) const noexcept { __builtin_prefetch(&line2(h)); }

  // After a miss in table 1: may the key be in table 2 or the stash?
  [[nodiscard]] bool may_be_in2(KeyHash h) const noexcept { return group_bit(line1(h), group_of<Line>(h)); }

  [[nodiscard]] std::uint32_t find1(const Key &key, unsigned length, KeyHash h) const noexcept {
    return find_in(line1(h), key, length);
  }
  [[nodiscard]] std::uint32_t find2(const Key &key, unsigned length, KeyHash h) const noexcept {
    if (const std::uint32_t v = find_in(line2(h), key, length)) return v;
    const std::uint32_t kept = read_acquire(*stash_keys);
    if (kept == 0) [[likely]]
      return 0;
    // A key takes the first free slot, so none stands behind the line that as many keys fill.
    const std::uint32_t used = (kept - 1) / Line::slots + 1, end = used < stash_lines ? used : stash_lines;
    for (std::uint32_t i = 0; i < end; ++i)
      if (const std::uint32_t v = find_in(stash[i], key, length)) return v;
    return 0;
  }

  // The value stored for exactly (key, length), or 0.
  [[nodiscard]] std::uint32_t find(const Key &key, unsigned length, KeyHash h) const noexcept {
    if (const std::uint32_t v = find1(key, length, h)) return v;
    compiler_fence();
    return may_be_in2(h) ? find2(key, length, h) : 0;
  }
};

} // namespace weir::table
