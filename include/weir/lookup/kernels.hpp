// The inner loops of a burst, as a set of functions that work on dense arrays: the portable form is
// here; forms for AVX2 and AVX-512 stand in kernels/, where one is chosen at start.
//
//   hash     keys, seeds        -> hashes     eight keys at a time where the processor can
//   lines    hashes             -> lines      multiply-and-shift onto a table, or where a predictor leads
//   probe    lines, keys        -> values, groups   what stands beside a key; all group bits of its line
//   settle   values, groups     -> mask       of those that a group bit sends to table 2
//   signs    keys               -> masks      of addresses with hosts, and with more, below their /16
//   cells    keys               -> lengths    in use below an address, and its best short prefix
//   or_else  values, values     -> values     the second where the first is none
//   listed   values             -> mask       of those that name a list
//   part     pointers, mask     -> pointers   whose bits are 0, and those whose bits are 1
//   sum      values, mask       -> the sum of those whose bits are 1
//   weave    values, values, mask -> values   in turns, as the mask says
//   mix      hashes, layer      -> a filter's own view of them
//   blocks   mixed hashes       -> blocks of a split-block Bloom filter
//   bloom    blocks, mixed hashes -> indices  that a split-block Bloom filter lets through
//   ranges   those of range maps: range_kernels.hpp
//   words    those of lines of words: word_kernels.hpp
//
// All sets give the same bits for the same memory; tests hold each against the portable one.
// hash(), lines...(), signs(), cells(), or_else(), mix(), blocks() and settle() may read and write up to the next
// multiple of `kernel_lanes` in every array; listed(), part() and sum() may read as far. probe() keeps the order of
// loads that line.hpp asks for: values, then keys, then group bits. It and bloom() also prefetch the lines of the burst
// behind, one a probe: prefetched all at once they slow the probes that follow (measured; docs/decisions.md).
#pragma once

#include "weir/filter/split_block_bloom.hpp"
#include "weir/lookup/range_kernels.hpp"
#include "weir/lookup/word_kernels.hpp"
#include "weir/table/chained_predictor.hpp"
#include "weir/table/length_map.hpp"
#include "weir/table/line.hpp"

#include <cstdint>

namespace weir::lookup {

using table::KeyV6, table::LineV4, table::LineV6;
namespace value = table::value;

inline constexpr unsigned kernel_lanes = 16, part_room = 8;

// The bits of a value in which a probe's length stands.
inline constexpr std::uint32_t length_mask = 0x00FF0000u;
[[nodiscard]] constexpr std::uint32_t length_tag(unsigned length) noexcept { return length << 16; }

// Longest length wins; 0 never replaces anything.
inline void offer(std::uint32_t &best, std::uint32_t value) noexcept {
  const bool longer = (value & length_mask) >= (best & length_mask);
  best = value != 0 && (best == 0 || longer) ? value : best;
}

// Prefetches a line into L2, which takes more misses at a time than L1: twice the lines in the same time
// (measured; docs/decisions.md).
inline void prefetch_line(const void *line) noexcept { __builtin_prefetch(line, 0, 2); }

// What a probe needs to know, as parallel arrays.
template <class Line> struct ProbeArrays {
  const Line *const *lines;
  const typename Line::Key *keys;
  const std::uint32_t *tags; // length_tag() of the length asked for; not 0 for IPv4
  unsigned count;            // at most 64

  const void *const *behind; // to prefetch, one a probe
  unsigned behind_count;     // at most `count`
};

// values[i]: what stands beside key i in line i, 0 for nothing; a group bit may still stand in it.
// groups[i]: bit g is the bit of the line's group g. Null where these lines are the last word: reading
// what nobody asks costs a tenth of the probe and more.
template <class Line>
using Probe = void (*)(const ProbeArrays<Line> &, std::uint32_t *values, std::uint32_t *groups) noexcept;

// What probe() said of lines that may not be the last word.
struct FirstAnswers {
  std::uint32_t *values; // settle() takes the group bits off
  const std::uint32_t *groups;
  const KeyHash *hashes; // null: those lines are the last word, no group bit leads on
  unsigned count;        // at most 64
};

// Bit i: probe i found nothing and its group bit is set. To be called some time after probe(): a wide load of what was just
// stored word by word waits until all of it is in the cache.
using Settle = std::uint64_t (*)(const FirstAnswers &) noexcept;

// What the signs of a length map say about addresses; bit i is address i.
struct CellSigns {
  std::uint64_t hosts; // there are hosts below
  std::uint64_t more;  // the cell says something else as well
};

// Of a split-block Bloom filter; what is mixed is of the filter's own layer.
struct BloomProbes {
  const filter::Block *const *blocks; // that the hashes name
  const std::uint64_t *mixed;
  unsigned count; // at most 64

  const void *const *behind; // to prefetch, one a probe
  unsigned behind_count;     // at most `count`
};

// A table and the first layer of its predictor.
struct LedTable {
  table::ChainedPredictor::FirstLayer predictor;
  const void *first; // line of table 1; those of table 2 follow the last of table 1
  std::uint32_t count1, count2;
};

struct Kernels {
  const char *name;
  // flips[i] is xxh3::flip_v4() of key i's seed; in a set for family jhash the seed itself.
  void (*hash_v4)(const std::uint32_t *keys, const std::uint64_t *flips, unsigned count,
                  KeyHash *hashes) noexcept;
  void (*hash_v6)(const KeyV6 *keys, const std::uint64_t *seeds, unsigned count, KeyHash *hashes) noexcept;
  // lines[i] = the line of a table of `size` lines at `first` that the high half of hashes[i] names.
  void (*lines1)(const KeyHash *hashes, unsigned count, const void *first, std::uint32_t size,
                 const void **lines) noexcept;
  // lines[i] = the line of table 1 or 2 that the first layer sends hashes[i] to.
  void (*lines_led)(const KeyHash *hashes, unsigned count, const LedTable &table,
                    const void **lines) noexcept;
  Probe<LineV4> probe_v4;
  Probe<LineV6> probe_v6;
  Settle settle_v4, settle_v6;
  // shorts[i], lengths[i]: short_value() and long_lengths() of wires[i]'s cell. At most 64 wires.
  void (*cells)(const std::uint64_t *map, const std::uint32_t *wires, unsigned count, std::uint32_t *shorts,
                std::uint32_t *lengths) noexcept;
  // values[i] = values[i], or otherwise[i] where that is 0.
  void (*or_else)(std::uint32_t *values, const std::uint32_t *otherwise, unsigned count) noexcept;
  // At most 64 wires; of LengthMapV4::signs.
  CellSigns (*signs)(const std::uint32_t *map, const std::uint32_t *wires, unsigned count) noexcept;
  // Bit i: values[i] names a list. At most 64 values.
  std::uint64_t (*listed)(const std::uint32_t *values, unsigned count) noexcept;
  // In their order. At most 64 pointers; zeros[] and ones[] have room for `part_room` more than `count`.
  void (*part)(void *const *pointers, unsigned count, std::uint64_t mask, void **zeros, void **ones) noexcept;
  std::uint64_t (*sum)(const std::uint32_t *values, unsigned count, std::uint64_t mask) noexcept;
  // out[i] = the next of zeros[] or of ones[], by bit i of `mask`. At most 64; may write up to the next multiple of
  // kernel_lanes, and read as many more of zeros[].
  void (*weave)(const std::uint32_t *zeros, const std::uint32_t *ones, unsigned count, std::uint64_t mask,
                std::uint32_t *out) noexcept;
  // mixed[i] = remix(hashes[i], layer)
  void (*mix)(const KeyHash *hashes, unsigned count, std::uint64_t layer, std::uint64_t *mixed) noexcept;
  // targets[i] = the block that mixed[i] names.
  void (*blocks)(const filter::SplitBlockBloom &filter, const std::uint64_t *mixed, unsigned count,
                 const void **targets) noexcept;
  // kept[]: the indices, ascending, whose blocks have all bits of their hashes; their number is returned. May write one
  // element more.
  unsigned (*bloom)(const BloomProbes &probes, std::uint16_t *kept) noexcept;
  const RangeKernels *ranges;
  const WordKernels *words;
};

namespace portable {

inline void hash_v4(const std::uint32_t *keys, const std::uint64_t *flips, unsigned count,
                    KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; ++i) hashes[i] = xxh3::hash_flipped_v4(keys[i], flips[i]);
}

inline void hash_v6(const KeyV6 *keys, const std::uint64_t *seeds, unsigned count, KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; ++i) hashes[i] = weir::hash_v6(&keys[i], seeds[i]);
}

inline void lines1(const KeyHash *hashes, unsigned count, const void *first, std::uint32_t size,
                   const void **lines) noexcept {
  const auto *base = static_cast<const std::byte *>(first);
  for (unsigned i = 0; i < count; ++i)
    lines[i] = base + std::size_t{reduce(table::half1(hashes[i]), size)} * cache_line_bytes;
}

inline void lines_led(const KeyHash *hashes, unsigned count, const LedTable &table,
                      const void **lines) noexcept {
  const table::ChainedPredictor::FirstLayer &f = table.predictor;
  const auto *base = static_cast<const std::byte *>(table.first);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t bit = table::ChainedPredictor::bit_of(f, hashes[i]);
    const std::uint64_t line1 = reduce(table::half1(hashes[i]), table.count1);
    const std::uint64_t line2 = std::uint64_t{table.count1} + reduce(table::half2(hashes[i]), table.count2);
    lines[i] = base + ((f.words[bit >> 5] >> (bit & 31) & 1) != 0 ? line2 : line1) * cache_line_bytes;
  }
}

[[nodiscard]] inline std::uint32_t groups_of(const LineV4 &line) noexcept {
  std::uint32_t bits = 0;
  for (unsigned g = 0; g < LineV4::groups; ++g) bits |= table::read_relaxed(line.value[g]) >> 31 << g;
  return bits;
}
[[nodiscard]] inline std::uint32_t groups_of(const LineV6 &line) noexcept {
  return table::read_relaxed(line.group_bits);
}

template <class Line>
void probe(const ProbeArrays<Line> &p, std::uint32_t *values, std::uint32_t *groups) noexcept {
  for (unsigned i = 0; i < p.count; ++i) {
    if (i < p.behind_count) prefetch_line(p.behind[i]);
    values[i] = table::find_in(*p.lines[i], p.keys[i], p.tags[i] >> 16);
    if (groups == nullptr) continue;
    table::compiler_fence();
    groups[i] = groups_of(*p.lines[i]);
  }
}

template <class Line> std::uint64_t settle(const FirstAnswers &a) noexcept {
  if (a.hashes == nullptr) return 0;
  std::uint64_t open = 0;
  for (unsigned i = 0; i < a.count; ++i) // find_in() leaves no group bit in a value
    if (a.values[i] == 0 && (a.groups[i] >> table::group_of<Line>(a.hashes[i]) & 1) != 0)
      open |= std::uint64_t{1} << i;
  return open;
}

inline CellSigns signs(const std::uint32_t *map, const std::uint32_t *wires, unsigned count) noexcept {
  CellSigns out{};
  const table::LengthMapV4 lengths{.signs = map};
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t sign = lengths.sign(wires[i]);
    out.hosts |= std::uint64_t{(sign & table::sign_hosts) != 0} << i;
    out.more |= std::uint64_t{(sign & table::sign_more) != 0} << i;
  }
  return out;
}

inline void cells(const std::uint64_t *map, const std::uint32_t *wires, unsigned count, std::uint32_t *shorts,
                  std::uint32_t *lengths) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t cell = table::read_acquire(map[table::LengthMapV4::index(wires[i])]);
    shorts[i] = table::short_value(cell);
    lengths[i] = table::long_lengths(cell);
  }
}

inline void or_else(std::uint32_t *values, const std::uint32_t *otherwise, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) values[i] = values[i] != 0 ? values[i] : otherwise[i];
}

inline std::uint64_t listed(const std::uint32_t *values, unsigned count) noexcept {
  std::uint64_t set = 0;
  for (unsigned i = 0; i < count; ++i) set |= std::uint64_t{value::is_set(values[i])} << i;
  return set;
}

// Without a branch: which way a pointer goes cannot be predicted.
inline void part(void *const *pointers, unsigned count, std::uint64_t mask, void **zeros,
                 void **ones) noexcept {
  unsigned z = 0, o = 0;
  for (unsigned i = 0; i < count; ++i, mask >>= 1) {
    zeros[z] = ones[o] = pointers[i];
    const auto bit = static_cast<unsigned>(mask & 1);
    z += 1 - bit;
    o += bit;
  }
}

inline std::uint64_t sum(const std::uint32_t *values, unsigned count, std::uint64_t mask) noexcept {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < count; ++i, mask >>= 1) sum += (mask & 1) * values[i];
  return sum;
}

inline void weave(const std::uint32_t *zeros, const std::uint32_t *ones, unsigned count, std::uint64_t mask,
                  std::uint32_t *out) noexcept {
  for (unsigned i = 0; i < count; ++i, mask >>= 1) {
    const auto bit = static_cast<unsigned>(mask & 1);
    out[i] = *(bit != 0 ? ones : zeros);
    ones += bit;
    zeros += 1 - bit;
  }
}

inline void mix(const KeyHash *hashes, unsigned count, std::uint64_t layer, std::uint64_t *mixed) noexcept {
  for (unsigned i = 0; i < count; ++i) mixed[i] = remix(hashes[i], layer);
}

inline void blocks(const filter::SplitBlockBloom &filter, const std::uint64_t *mixed, unsigned count,
                   const void **targets) noexcept {
  for (unsigned i = 0; i < count; ++i) targets[i] = &filter.block_for(mixed[i]);
}

inline unsigned bloom(const BloomProbes &p, std::uint16_t *kept) noexcept {
  unsigned left = 0;
  for (unsigned i = 0; i < p.count; ++i) {
    if (i < p.behind_count) prefetch_line(p.behind[i]);
    if (filter::SplitBlockBloom::has_bits(*p.blocks[i], p.mixed[i]))
      kept[left++] = static_cast<std::uint16_t>(i);
  }
  return left;
}

// Of images of family jhash: `flips` are seeds.
inline void jhash_v4(const std::uint32_t *keys, const std::uint64_t *flips, unsigned count,
                     KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; ++i) hashes[i] = weir::jhash_v4(keys[i], flips[i]);
}
inline void jhash_v6(const KeyV6 *keys, const std::uint64_t *seeds, unsigned count,
                     KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; ++i) hashes[i] = weir::jhash_v6(&keys[i], seeds[i]);
}
inline void jhash_mix(const KeyHash *hashes, unsigned count, std::uint64_t layer,
                      std::uint64_t *mixed) noexcept {
  for (unsigned i = 0; i < count; ++i) mixed[i] = jhash_remix(hashes[i], layer);
}

} // namespace portable

// The same set for images of family jhash.
[[nodiscard]] constexpr Kernels with_jhash(Kernels kernels) noexcept {
  kernels.hash_v4 = portable::jhash_v4;
  kernels.hash_v6 = portable::jhash_v6;
  kernels.mix = portable::jhash_mix;
  return kernels;
}

inline constexpr Kernels portable_kernels{"portable",
                                          portable::hash_v4,
                                          portable::hash_v6,
                                          portable::lines1,
                                          portable::lines_led,
                                          portable::probe<LineV4>,
                                          portable::probe<LineV6>,
                                          portable::settle<LineV4>,
                                          portable::settle<LineV6>,
                                          portable::cells,
                                          portable::or_else,
                                          portable::signs,
                                          portable::listed,
                                          portable::part,
                                          portable::sum,
                                          portable::weave,
                                          portable::mix,
                                          portable::blocks,
                                          portable::bloom,
                                          &portable::range_kernels,
                                          &portable::word_kernels};

} // namespace weir::lookup
