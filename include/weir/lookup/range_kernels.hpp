// The inner loops of range maps (table/range_map_v4.hpp, range_map_v6.hpp), which lookup/range_burst.hpp joins. As
// in kernels.hpp, the portable form is here, forms for AVX2 and AVX-512 stand in kernels/, and all give the same
// for the same memory.
//
//   words    questions     -> words     that lead to first lines, to be prefetched
//   places   questions, words -> lines, keys   where to look first, and for what
//   steps    lines, keys   -> what lines say of keys, and which of that leads on
//   follow   questions that are led on -> what lines say of them, and those that are led on again
//   numbers  what they say -> table values
//
// words(), places() and numbers() may read and write up to the next multiple of 16 in every array, and steps() reads
// 64 elements of `said`, of which it writes `count`. It prefetches for two bursts behind, one word and one line each step: prefetched all at once they slow what follows.
#pragma once

#include "weir/filter/batch.hpp"
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"

#include <array>
#include <cstdint>

namespace weir::lookup {

template <class Key> struct RangeArrays { // u16 of IPv4, u32 of IPv6
  const table::RangeLine *const *lines;
  const Key *keys;
  unsigned count; // at most 64

  const table::RangeLine *const *lines_behind; // to prefetch, one of each a step
  const void *const *words_behind;
  unsigned behind_count; // at most `count`
};

// Questions that are led on, of one burst or of several: the lines that they are led to, what is looked for there, 16 bits or a
// whole address, of which the line says which 16 bits, and where to put what the line says.
template <class Key> struct RangeOpen {
  static constexpr unsigned max = 128;
  std::array<const table::RangeLine *, max> lines;
  std::array<const Key *, max> keys;
  std::array<std::uint16_t *, max> said;
};

struct RangeKernels {
  // Bit i: a host may be at addresses[i]. At most 64.
  std::uint64_t (*may_have_hosts)(const table::HostMarks &marks, const table::KeyV6 *addresses,
                                  unsigned count) noexcept;
  // words[i]: the cell of wires[i]. Then, from there, the first line, and what is looked for in it.
  void (*words_v4)(const table::RangeMapV4 &map, const std::uint32_t *wires, unsigned count,
                   const void **words) noexcept;
  void (*places_v4)(const table::RangeMapV4 &map, const std::uint32_t *wires, const void *const *words,
                    unsigned count, const table::RangeLine **lines, std::uint16_t *keys) noexcept;
  // words[i]: the place of addresses[i] in the array. Then, from there, the first line, and windows 1 and 2 of the address.
  void (*words_v6)(const table::RangeMapV6 &map, const table::KeyV6 *addresses, unsigned count,
                   const void **words) noexcept;
  void (*places_v6)(const table::RangeMapV6 &map, const table::KeyV6 *addresses, const void *const *words,
                    unsigned count, const table::RangeLine **lines, std::uint32_t *keys) noexcept;
  // said[i]: what line i says of key i (table/range_line.hpp). Returned: bit i is set where it leads on. Names with `points`
  // are for maps that have some; what their steps say is for their numbers, which take the mark of a point away. Names with `wide`
  // are for maps that have wide lines.
  std::uint64_t (*steps_v4)(const RangeArrays<std::uint16_t> &arrays, std::uint16_t *said) noexcept;
  std::uint64_t (*steps_v4_points)(const RangeArrays<std::uint16_t> &arrays, std::uint16_t *said) noexcept;
  std::uint64_t (*steps_v6)(const RangeArrays<std::uint32_t> &arrays, std::uint16_t *said) noexcept;
  // One step for each of `count` open questions. Those that are led on again are next, in their order; their lines are prefetched
  // and their number is returned.
  unsigned (*follow_v4)(const RangeOpen<std::uint16_t> &open, unsigned count,
                        RangeOpen<std::uint16_t> &next) noexcept;
  unsigned (*follow_v4_points)(const RangeOpen<std::uint16_t> &open, unsigned count,
                               RangeOpen<std::uint16_t> &next) noexcept;
  unsigned (*follow_v6)(const RangeOpen<table::KeyV6> &open, unsigned count,
                        RangeOpen<table::KeyV6> &next) noexcept;
  unsigned (*follow_v6_wide)(const RangeOpen<table::KeyV6> &open, unsigned count,
                             RangeOpen<table::KeyV6> &next) noexcept;
  // values[i]: number said[i] of the dictionary. Of what leads on: 0.
  void (*numbers)(const std::uint32_t *dictionary, const std::uint16_t *said, unsigned count,
                  std::uint32_t *values) noexcept;
  void (*numbers_points)(const std::uint32_t *dictionary, const std::uint16_t *said, unsigned count,
                         std::uint32_t *values) noexcept;
};

namespace portable {

inline void prefetch(const void *p) noexcept { __builtin_prefetch(p, 0, filter::into_l2); }

inline std::uint64_t may_have_hosts(const table::HostMarks &marks, const table::KeyV6 *addresses,
                                    unsigned count) noexcept {
  std::uint64_t out = 0;
  for (unsigned i = 0; i < count; ++i) out |= std::uint64_t{marks.may_have(addresses[i])} << i;
  return out;
}

inline void words_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, unsigned count,
                     const void **words) noexcept {
  for (unsigned i = 0; i < count; ++i) words[i] = map.entrance(wires[i]);
}

inline void places_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, const void *const *words,
                      unsigned count, const table::RangeLine **lines, std::uint16_t *keys) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    lines[i] = map.first_line(*static_cast<const std::uint64_t *>(words[i]), wires[i]);
    keys[i] = table::RangeMapV4::key_of(wires[i]);
  }
}

inline void words_v6(const table::RangeMapV6 &map, const table::KeyV6 *addresses, unsigned count,
                     const void **words) noexcept {
  for (unsigned i = 0; i < count; ++i) words[i] = map.entrance(addresses[i]);
}

inline void places_v6(const table::RangeMapV6 &map, const table::KeyV6 *addresses, const void *const *words,
                      unsigned count, const table::RangeLine **lines, std::uint32_t *keys) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    lines[i] = map.first_line(*static_cast<const std::uint32_t *>(words[i]), addresses[i]);
    keys[i] = table::RangeMapV6::key_of(addresses[i]);
  }
}

inline void numbers(const std::uint32_t *dictionary, const std::uint16_t *said, unsigned count,
                    std::uint32_t *values) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t v = table::read_relaxed(dictionary[table::leads_on(said[i]) ? 0 : said[i]]);
    values[i] = table::leads_on(said[i]) ? 0 : v;
  }
}

[[nodiscard]] inline std::uint16_t step_for(const table::RangeLine &line, std::uint16_t key) noexcept {
  return table::range_step(line, key);
}
[[nodiscard]] inline std::uint16_t step_for(const table::RangeLine &line,
                                            const table::KeyV6 &address) noexcept {
  return table::RangeMapV6::step(line, address);
}

[[nodiscard]] inline std::uint16_t step_for(const table::RangeLine &line, std::uint32_t first_key) noexcept {
  return table::first_step(table::as_first(line), first_key);
}

template <class Key> std::uint64_t steps(const RangeArrays<Key> &r, std::uint16_t *said) noexcept {
  std::uint64_t on = 0;
  for (unsigned i = 0; i < r.count; ++i) {
    if (i < r.behind_count) {
      prefetch(r.lines_behind[i]);
      prefetch(r.words_behind[i]);
    }
    said[i] = step_for(*r.lines[i], r.keys[i]);
    on |= std::uint64_t{table::leads_on(said[i])} << i;
  }
  return on;
}

template <class Key>
unsigned follow(const RangeOpen<Key> &open, unsigned count, RangeOpen<Key> &next) noexcept {
  unsigned left = 0;
  for (unsigned i = 0; i < count; ++i) {
    const table::RangeLine *const line = open.lines[i];
    const std::uint16_t said = step_for(*line, *open.keys[i]);
    *open.said[i] = said;
    if (!table::leads_on(said)) continue;
    next.lines[left] = line + table::lines_ahead(said);
    next.keys[left] = open.keys[i];
    next.said[left] = open.said[i];
    prefetch(next.lines[left++]);
  }
  return left;
}

inline constexpr RangeKernels range_kernels{may_have_hosts,
                                            words_v4,
                                            places_v4,
                                            words_v6,
                                            places_v6,
                                            steps<std::uint16_t>,
                                            steps<std::uint16_t>,
                                            steps<std::uint32_t>,
                                            follow<std::uint16_t>,
                                            follow<std::uint16_t>,
                                            follow<table::KeyV6>,
                                            follow<table::KeyV6>,
                                            numbers,
                                            numbers};

} // namespace portable

} // namespace weir::lookup
