// The inner loops of lines of words (table/word_line.hpp), which lookup/probe_batch.hpp joins. As in kernels.hpp, the
// portable form is here, forms for AVX2 and AVX-512 stand in kernels/, and all give the same for the same memory.
//
//   aim      wires          -> lines, first words
//   probe    lines          -> the word of each wire, and the bit of its group
//   settle   words, groups  -> values, and a mask of those that may be in the table behind
//
// aim() and settle() may read and write up to the next multiple of `kernel_lanes` in every array. probe() reads words first,
// group bits after them, and prefetches the lines of the burst behind, one a probe.
//
// A line comes as two halves of 32 bytes: a load of 64 that finds its line still on the way takes a third of the rate (measured;
// docs/decisions.md).
#pragma once

#include "weir/table/line.hpp"
#include "weir/table/word_line.hpp"

#include <cstdint>

namespace weir::lookup {

struct WordProbes {
  const table::WordLine *const *lines;
  const std::uint32_t *first_words;
  unsigned count; // at most 64
  std::uint32_t words_a_key;

  const void *const *behind; // to prefetch, one a probe
  unsigned behind_count;     // at most `count`
};

// What probe() said.
struct WordAnswers {
  std::uint32_t *values; // words; settle() makes values of them
  const std::uint32_t *groups;
  unsigned count; // at most 64
  std::uint32_t list_bits;
};

struct WordKernels {
  void (*aim)(const table::WordTableView &table, const std::uint32_t *wires, unsigned count,
              const void **lines, std::uint32_t *first_words) noexcept;
  // values[i]: the word of wire i, 0 for none. groups[i]: 1 where the bit of its group is set, else 0.
  void (*probe)(const WordProbes &probes, std::uint32_t *values, std::uint32_t *groups) noexcept;
  // Bit i: wire i found nothing and the bit of its group is set. To be called some time after probe(), as Settle of kernels.hpp.
  std::uint64_t (*settle)(const WordAnswers &answers) noexcept;
};

namespace portable {

inline void aim_words(const table::WordTableView &table, const std::uint32_t *wires, unsigned count,
                      const void **lines, std::uint32_t *first_words) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    const table::WordTableView::Spot at = table.spot(wires[i]);
    lines[i] = table.lines + at.line;
    first_words[i] = at.first_word;
  }
}

inline void probe_words(const WordProbes &p, std::uint32_t *values, std::uint32_t *groups) noexcept {
  for (unsigned i = 0; i < p.count; ++i) {
    if (i < p.behind_count) __builtin_prefetch(p.behind[i], 0, 2);
    values[i] = table::find_in(*p.lines[i], p.first_words[i], p.words_a_key);
    table::compiler_fence();
    groups[i] = table::group_bit(*p.lines[i], p.first_words[i] >> 28) ? 1 : 0;
  }
}

inline std::uint64_t settle_words(const WordAnswers &a) noexcept {
  std::uint64_t open = 0;
  for (unsigned i = 0; i < a.count; ++i) {
    if (const std::uint32_t word = a.values[i]; word != 0)
      a.values[i] = (word & a.list_bits) >> 1 | 32u << 16;
    else if (a.groups[i] != 0)
      open |= std::uint64_t{1} << i;
  }
  return open;
}

inline constexpr WordKernels word_kernels{aim_words, probe_words, settle_words};

} // namespace portable

} // namespace weir::lookup
