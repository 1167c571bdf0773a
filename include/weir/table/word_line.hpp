// Lines of IPv4 hosts in one word of 32 bits each: sixteen a line, where a line of keys and values (table/line.hpp)
// has eight.
//
// A keyed permutation scatters the address to x. Of n lines, x * n names one in its high half, and the low half tells
// apart the addresses of that line: their products are n apart, so that even without its lowest s = floor(log2 n) bits
// no two are alike. A word keeps the low half from bit s on, and the list where the half has bits to spare.
//
//   | rest: bits s to 31 of the low half | list number + 1: s - 1 bits | group bit |
//
// List 0 is an empty slot, whatever its rest says. Words of one address are neighbours as numbers, so that a subtraction and
// one unsigned comparison find the address with any list, and no empty slot.
//
// The group of an address is the highest four bits of its rest. Group bit g of a line stands in slot g, belongs to that place
// and not to the address there, and says that an address of this group of this line lives in the table behind: an
// ordinary table of whole keys (table/table.hpp). That table has what found its line full, and hosts of lists whose
// number takes more than s - 1 bits. A line with group bits may have room again; an address of a group whose bit is set
// may stand in either place, never in both for longer than a change takes.
//
// Errors: none. 64 bytes of a line are sixteen hosts at best; at eleven a line 1 % live in the table behind. Addresses chosen
// by someone who knows the image's secret would all fall into one line; without it they spread like any others.
//
// Readers run beside one writer. Key and value are one atomic word: a set, a change and an unset are one store each, and
// a word that was freed may be used again at once. One order matters:
//
//   writer   an address that leaves a line for the table behind: table, then group bit, then the word is cleared
//   reader   words first, then the group bit, then the table
//
// Nothing comes back from the table behind to a line, so no step waits for a grace period but those inside that table.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/hash.hpp"
#include "weir/table/line.hpp"

#include <bit>
#include <cstdint>
#include <smmintrin.h>

namespace weir::table {

struct alignas(cache_line_bytes) WordLine {
  static constexpr unsigned slots = 16, groups = 16;
  std::uint32_t word[slots];
};
static_assert(sizeof(WordLine) == 64);

// A permutation of all addresses, keyed by a secret: three rounds of xor, multiplication by an odd factor and shift, of
// which each can be undone.
struct Scatter {
  static constexpr unsigned rounds = 3;
  static constexpr std::uint32_t factor[rounds] = {0x7FEB352Du, 0x846CA68Bu, 0x9E3779B1u};
  static constexpr int shift[rounds] = {16, 15, 16};
  std::uint32_t key[rounds] = {};

  constexpr Scatter() noexcept = default;
  explicit constexpr Scatter(std::uint64_t secret) noexcept {
    for (unsigned r = 0; r < rounds; ++r) key[r] = high_half(remix({secret}, r + 1));
  }
  [[nodiscard]] constexpr std::uint32_t operator()(std::uint32_t wire) const noexcept {
    std::uint32_t x = wire;
    for (unsigned r = 0; r < rounds; ++r) {
      x = (x ^ key[r]) * factor[r];
      x ^= x >> shift[r];
    }
    return x;
  }
  [[nodiscard]] constexpr std::uint32_t undone(std::uint32_t x) const noexcept {
    for (unsigned r = rounds; r-- > 0;) {
      std::uint32_t y = x ^ x >> shift[r]; // right in its highest 30 bits or more
      y = x ^ y >> shift[r];
      x = y * inverse(factor[r]) ^ key[r];
    }
    return x;
  }

private:
  [[nodiscard]] static constexpr std::uint32_t inverse(std::uint32_t odd) noexcept {
    std::uint32_t out = odd; // right in three bits, and in twice as many after each step
    for (int step = 0; step < 4; ++step) out *= 2 - odd * out;
    return out;
  }
};

struct WordTableView {
  // Below: no bit for a list. Above: fewer than four bits of rest, which name the group.
  static constexpr std::uint32_t lines_least = 4, lines_most = (std::uint32_t{1} << 29) - 1;
  static constexpr std::uint32_t group_bit = 1;

  const WordLine *lines = nullptr; // null: there is no such table
  std::uint32_t count = 0;         // lines_least to lines_most
  std::uint32_t shift = 0;         // floor(log2 count)
  Scatter scatter;

  WordTableView() = default;
  WordTableView(const WordLine *first, std::uint32_t lines_count, std::uint64_t secret) noexcept
      : lines(first), count(lines_count), shift(shift_of(lines_count)), scatter(secret) {}

  [[nodiscard]] static constexpr std::uint32_t shift_of(std::uint32_t lines_count) noexcept {
    return 31u - static_cast<unsigned>(std::countl_zero(lines_count));
  }
  // Of as many lines: the list numbers that a word can name are smaller than this.
  [[nodiscard]] static constexpr std::uint32_t lists_of(std::uint32_t lines_count) noexcept {
    return (std::uint32_t{1} << (shift_of(lines_count) - 1)) - 1;
  }

  [[nodiscard]] bool empty() const noexcept { return lines == nullptr; }
  [[nodiscard]] std::uint32_t below_rest() const noexcept { return (std::uint32_t{1} << shift) - 1; }
  // Words from an address's first one on, fewer than this, are the address's: every list, with and without a group bit.
  [[nodiscard]] std::uint32_t words_a_key() const noexcept { return below_rest() - 1; }
  // Where a word has the list. Damaged ones may hold more than a value does.
  [[nodiscard]] std::uint32_t list_bits() const noexcept { return below_rest() & (value::list_mask << 1); }
  [[nodiscard]] bool can_name(ListId list) const noexcept { return list.value() < lists_of(count); }

  struct Spot {
    std::uint32_t line;
    std::uint32_t first_word; // list number 0, and no group bit
    [[nodiscard]] constexpr unsigned group() const noexcept { return first_word >> 28; }
  };
  [[nodiscard]] Spot spot(std::uint32_t wire) const noexcept {
    const std::uint64_t product = std::uint64_t{scatter(wire)} * count;
    return {high_half(product), (low_half(product) & ~below_rest()) | 1u << 1};
  }
  // The address that a word of line `line` is about.
  [[nodiscard]] std::uint32_t wire_of(std::uint32_t line, std::uint32_t word) const noexcept {
    const std::uint64_t least = std::uint64_t{line} << 32 | (word & ~below_rest());
    return scatter.undone(static_cast<std::uint32_t>((least + count - 1) / count));
  }

  [[nodiscard]] static constexpr std::uint32_t word_of(Spot spot, ListId list) noexcept {
    return spot.first_word + (std::uint32_t{list.value()} << 1);
  }
  // As tables have it. 0 of no word.
  [[nodiscard]] std::uint32_t value_of(std::uint32_t word) const noexcept {
    return word == 0 ? 0 : (word & list_bits()) >> 1 | 32u << 16;
  }
  [[nodiscard]] bool is_free(std::uint32_t word) const noexcept {
    return (word & (below_rest() & ~group_bit)) == 0;
  }

  struct Found {
    std::uint32_t value = 0;
    bool behind = false; // not here: the table behind may have it
  };
  [[nodiscard]] Found find(std::uint32_t wire) const noexcept;
  // Inlined, since g++ 12 takes a function that does nothing but prefetch for one without effect, and drops its calls.
  [[gnu::always_inline]] void prefetch(std::uint32_t wire) const noexcept {
    __builtin_prefetch(&lines[spot(wire).line]);
  }
};

// The word of an address in a line, 0 for none. Where a damaged line has it twice, the lowest pair of slots s and s + 8
// answers, and of these two the upper: as kernels find it that take a line in two halves.
[[nodiscard]] inline std::uint32_t find_in(const WordLine &line, std::uint32_t first_word,
                                           std::uint32_t words_a_key) noexcept {
  constexpr unsigned half = WordLine::slots / 2;
#ifdef WEIR_WORDWISE
  for (unsigned s = 0; s < half; ++s)
    for (const unsigned slot : {s + half, s})
      if (const std::uint32_t word = read_acquire(line.word[slot]); word - first_word < words_a_key)
        return word;
  return 0;
#else
  const auto *quarters = reinterpret_cast<const __m128i *>(line.word);
  const __m128i first = _mm_set1_epi32(static_cast<int>(first_word));
  const __m128i last = _mm_set1_epi32(static_cast<int>(words_a_key - 1));
  alignas(16) std::uint32_t seen[WordLine::slots];
  unsigned same = 0;
  for (unsigned q = 0; q < WordLine::slots / 4; ++q) {
    const __m128i words = _mm_load_si128(quarters + q), off = _mm_sub_epi32(words, first);
    const __m128i in = _mm_cmpeq_epi32(_mm_min_epu32(off, last), off); // off is `last` or less
    same |= static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(in))) << 4 * q;
    _mm_store_si128(reinterpret_cast<__m128i *>(seen) + q, words);
  }
  if (same == 0) return 0;
  const auto pair = static_cast<unsigned>(std::countr_zero(same | same >> half));
  return seen[(same >> (pair + half) & 1) != 0 ? pair + half : pair];
#endif
}
// To be read after the words.
[[nodiscard]] inline bool group_bit(const WordLine &line, unsigned group) noexcept {
  return (read_relaxed(line.word[group]) & WordTableView::group_bit) != 0;
}

inline WordTableView::Found WordTableView::find(std::uint32_t wire) const noexcept {
  const Spot at = spot(wire);
  if (const std::uint32_t word = find_in(lines[at.line], at.first_word, words_a_key()); word != 0)
    return {value_of(word), false};
  compiler_fence();
  return {0, table::group_bit(lines[at.line], at.group())};
}

} // namespace weir::table
