// The parameters of a Seesaw counting filter as its reader and its writer hold them [SSCF Table 2].
//
//   SeesawHeader, 128 bytes | cells, padded to 64 bytes | modulator, padded to 64 bytes
//
//   cell            pc: positive count, low bits | nc: negative count | one adaptive bit, if asked for
//   modulator cell  count, low bits | index of the stored backup function
//
//   here            paper    bounds
//   hashes          k        1 .. 16
//   backups         k^       1 .. 16, at most 2^index_bits
//   negative_bits   theta_1  1 .. 8; one is enough, more only count the negatives
//   positive_bits   theta_2  1 .. 8
//   count_bits      eta_1    1 .. 12
//   index_bits      eta_2    0 .. 4
//   modulator_words alpha    by way of words
//
// A copy is taken at attach and masked with ever after: nothing that a section holds later can lead a
// reader out of it.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/base_filter.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weir::filter {

inline constexpr unsigned seesaw_hashes_max = 16;
inline constexpr unsigned seesaw_backups_max = 16;
inline constexpr std::uint32_t lean_adaptive = 8; // flags lean_hashes
inline constexpr std::uint32_t any_jhash = 16;    // in its place

// Begins as a FilterHeader does: the parameters are its shape words.
struct SeesawHeader {
  std::array<char, 8> magic;
  std::uint32_t kind; // FilterKind::seesaw
  std::uint32_t reserved0;
  std::uint32_t cell_words;      // of 64 bits, at least 1; a multiple of 8 serves best
  std::uint32_t modulator_words; // of 64 bits, at least 1
  std::uint8_t hashes;           // k
  std::uint8_t backups;          // functions that a key may be moved to
  std::uint8_t negative_bits;    // of a cell
  std::uint8_t positive_bits;    // of a cell
  std::uint8_t adaptive;         // 1: a cell has one bit more, for negatives learnt late
  std::uint8_t count_bits;       // of a modulator cell
  std::uint8_t index_bits;       // of a modulator cell
  std::uint8_t hash_family;      // 0: xxh3; 2: jhash, for one kind of shape alone
  std::array<std::uint64_t, 2> reserved1;
  std::uint64_t keys;         // present now (mutable)
  std::uint64_t planned_keys; // the sizes were chosen for so many

  std::uint32_t guarded;         // negatives guarded (mutable)
  std::uint32_t modulator_used;  // modulator cells with a count (mutable)
  std::uint32_t modulator_stuck; // of these, at their maximum for ever (mutable)
  std::uint32_t cells_stuck;     // cells at their maximum for ever (mutable)
  std::array<std::uint8_t, 48> reserved;
};
static_assert(sizeof(SeesawHeader) == 128 && std::has_unique_object_representations_v<SeesawHeader>);
static_assert(offsetof(SeesawHeader, cell_words) == offsetof(FilterHeader, shape) &&
              offsetof(SeesawHeader, reserved1) == offsetof(FilterHeader, layer) &&
              offsetof(SeesawHeader, keys) == offsetof(FilterHeader, keys) &&
              offsetof(SeesawHeader, planned_keys) == offsetof(FilterHeader, planned_keys) &&
              offsetof(SeesawHeader, guarded) == sizeof(FilterHeader));

struct SeesawShape {
  CellArray cells, modulator;
  std::uint32_t lines = 0, line_shift = 0; // of the cells, each of 2^line_shift words
  std::uint32_t positive_mask = 0, negative_mask = 0, adaptive_mask = 0; // of a cell; no adaptive bit: 0
  std::uint32_t count_mask = 0, index_mask = 0;                          // of a modulator cell, shifted down
  std::uint32_t count_bits = 0;
  std::uint32_t hashes = 0, backups = 0;
  std::uint32_t lean_hashes = 0; // 0: not lean, see LeanLayout
  HashFamily family = HashFamily::xxh3;

  [[nodiscard]] std::uint32_t count_of(std::uint32_t modulator_cell) const noexcept {
    return modulator_cell & count_mask;
  }
  [[nodiscard]] bool counted(std::uint32_t cell) const noexcept { return (cell & positive_mask) != 0; }
};

// What was seen at a key's positions: of each, whether it is sealed and whether it has no count, in sets
// whose members are bits; position i is bit i or 3 i. Built without branches.
class AnySeen {
public:
  explicit AnySeen(const SeesawShape &shape) noexcept : shape_(shape) {}
  void look(unsigned i, std::uint32_t cell) noexcept {
    sealed_ |= std::uint64_t{(cell & shape_.negative_mask) != 0} << i;
    vacant_ |= std::uint64_t{(cell & shape_.positive_mask) == 0} << i;
  }
  [[nodiscard]] std::uint64_t sealed() const noexcept { return sealed_; }
  [[nodiscard]] std::uint64_t vacant() const noexcept { return vacant_; }
  [[nodiscard]] static std::uint64_t bit(unsigned i) noexcept { return std::uint64_t{1} << i; }

private:
  const SeesawShape &shape_;
  std::uint64_t sealed_ = 0, vacant_ = 0;
};
template <unsigned Hashes> class LeanSeen { // cells of 2 + 1 bits, taken apart when all are there
public:
  explicit LeanSeen(const SeesawShape &) noexcept {}
  void look(unsigned i, std::uint32_t cell) noexcept { cells_ |= std::uint64_t{cell & 7} << 3 * i; }
  [[nodiscard]] std::uint64_t sealed() const noexcept { return cells_ >> 2 & all; }
  [[nodiscard]] std::uint64_t vacant() const noexcept { return ~(cells_ | cells_ >> 1) & all; }
  [[nodiscard]] static std::uint64_t bit(unsigned i) noexcept { return std::uint64_t{1} << 3 * i; }

private:
  static constexpr std::uint64_t all = 0x9249'2492'4924'9249 & ((std::uint64_t{1} << 3 * Hashes) - 1);
  std::uint64_t cells_ = 0;
};

// What the hot paths ask of a shape: numbers known to the compiler for the shapes that are planned most,
// or as they stand in the shape.
template <unsigned Hashes, bool Adaptive> struct LeanLayout {
  using Seen = LeanSeen<Hashes>;
  static constexpr HashFamily family = HashFamily::xxh3;
  static constexpr unsigned hashes = Hashes, backups = 1;
  static constexpr std::uint32_t line_shift = 3, width = Adaptive ? 4 : 3, per_word = 64 / width;
  static constexpr std::uint32_t positive_mask = 3, positive_bits = 2, negative_mask = 4,
                                 adaptive_mask = Adaptive ? 8 : 0;
  static constexpr std::uint32_t modulator_width = 2, modulator_per_word = 32;
  static constexpr std::uint32_t count_mask = 3, count_bits = 2, index_mask = 0;

  // Does no key with a conflict count in the modulator's cell, or none in an unsealed backup?
  [[nodiscard]] static bool missing(std::uint32_t stored, std::uint32_t backup) noexcept {
    constexpr std::uint32_t answers = 0x0101'01FF; // bit of stored and backup
    return (answers >> ((stored & 3) * 8 + (backup & 7)) & 1) != 0;
  }
  explicit LeanLayout(const SeesawShape &s) noexcept
      : shape(s), lines(s.lines), modulator_words(s.modulator.words) {}
  const SeesawShape &shape;
  std::uint32_t lines, modulator_words;
};
template <HashFamily Family> struct AnyLayoutOf {
  using Seen = AnySeen;
  static constexpr HashFamily family = Family;
  [[nodiscard]] bool missing(std::uint32_t stored, std::uint32_t backup) const noexcept {
    const unsigned unused = (stored & count_mask) == 0;
    return (unused | unsigned{(backup & (positive_mask | negative_mask)) == 0}) != 0;
  }
  explicit AnyLayoutOf(const SeesawShape &s) noexcept
      : shape(s), lines(s.lines), modulator_words(s.modulator.words), hashes(s.hashes), backups(s.backups),
        line_shift(s.line_shift), width(s.cells.width), per_word(s.cells.per_word),
        positive_mask(s.positive_mask),
        positive_bits(static_cast<std::uint32_t>(std::countr_one(s.positive_mask))),
        negative_mask(s.negative_mask), adaptive_mask(s.adaptive_mask), modulator_width(s.modulator.width),
        modulator_per_word(s.modulator.per_word), count_mask(s.count_mask), count_bits(s.count_bits),
        index_mask(s.index_mask) {}
  const SeesawShape &shape;
  std::uint32_t lines, modulator_words;
  unsigned hashes, backups;
  std::uint32_t line_shift, width, per_word, positive_mask, positive_bits, negative_mask, adaptive_mask;
  std::uint32_t modulator_width, modulator_per_word, count_mask, count_bits, index_mask;
};
using AnyLayout = AnyLayoutOf<HashFamily::xxh3>;

// Calls `work` with the layout of a shape: loops of constant length are unrolled, keep a key's places in
// registers and shift by constants.
template <bool Lean = true, class Work>
[[gnu::always_inline]] inline auto with_layout(const SeesawShape &shape, Work work) noexcept {
  if constexpr (!Lean) return work(AnyLayout(shape));
  switch (shape.lean_hashes) {
  case 2: return work(LeanLayout<2, false>(shape));
  case 3: return work(LeanLayout<3, false>(shape));
  case 4: return work(LeanLayout<4, false>(shape));
  case 5: return work(LeanLayout<5, false>(shape));
  case 6: return work(LeanLayout<6, false>(shape));
  case 2 | lean_adaptive: return work(LeanLayout<2, true>(shape));
  case 3 | lean_adaptive: return work(LeanLayout<3, true>(shape));
  case 4 | lean_adaptive: return work(LeanLayout<4, true>(shape));
  case 5 | lean_adaptive: return work(LeanLayout<5, true>(shape));
  case 6 | lean_adaptive: return work(LeanLayout<6, true>(shape));
  case any_jhash: return work(AnyLayoutOf<HashFamily::jhash>(shape));
  default: return work(AnyLayout(shape));
  }
}

// Of a key.
[[nodiscard]] constexpr unsigned functions_a_line(unsigned hashes) noexcept { return hashes <= 4 ? 2 : 3; }

// A key's places: its functions in the cells, two or three to a line, then the modulator, then the backups,
// which lie in the first function's line. To be asked for in this order, each once, backups as often as
// needed.
//
// Every line takes a number of its own, a multiple of the key's hash; the upper part names the line, what
// is left of it the places within. Two functions to a line cost no rate that can be measured, three 5 to
// 10 % of it (docs/decisions.md).
//
// Family jhash cannot multiply: there the numbers are the key's hash remixed, with what the factors would be.
class SeesawWalk {
public:
  explicit SeesawWalk(KeyHash key) noexcept : hash_(key), key_(key.bits ^ key.bits >> 32) {}

  // What next() turns the key's hash with, the n-th time.
  [[nodiscard]] static constexpr std::uint64_t factor(unsigned n) noexcept {
    std::uint64_t factor = first_factor;
    while (n-- > 0) factor *= remix_factor_1;
    return factor;
  }

  template <class Layout>
  [[nodiscard, gnu::always_inline]] CellPlace function(const Layout &l, unsigned i) noexcept {
    if (i % functions_a_line(l.hashes) == 0) {
      line_ = std::uint64_t{divide(next<Layout>(), l.lines)} << l.line_shift;
      if (i == 0) first_line_ = line_;
    }
    return within(l, line_, rest_);
  }
  template <class Layout> [[nodiscard, gnu::always_inline]] CellPlace modulator(const Layout &l) noexcept {
    const std::uint32_t word = divide(next<Layout>(), l.modulator_words);
    const std::uint64_t cell = std::uint64_t{rest_} * l.modulator_per_word;
    rest_ = static_cast<std::uint32_t>(cell);
    return {word, static_cast<std::uint32_t>(cell >> 32) * l.modulator_width};
  }
  template <class Layout>
  [[nodiscard, gnu::always_inline]] CellPlace backup(const Layout &l, std::uint32_t index) const noexcept {
    std::uint32_t rest = rest_ + index * 0x9E3779B9u;
    return within(l, first_line_, rest);
  }

private:
  static constexpr std::uint64_t first_factor = 0x5EE5'A3C0'117B'1A57ull;

  // Each odd factor turns the key's hash into another number.
  template <class Layout> [[nodiscard, gnu::always_inline]] std::uint64_t next() noexcept {
    const std::uint64_t factor = factor_;
    factor_ *= remix_factor_1;
    if constexpr (Layout::family == HashFamily::jhash)
      return jhash_remix(hash_, factor);
    else
      return key_ * factor;
  }
  // The part of [0, size) that a uniform number falls in; where in it is kept in rest_.
  [[nodiscard]] std::uint32_t divide(std::uint64_t uniform, std::uint32_t size) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{uniform} * size;
    rest_ = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
    return static_cast<std::uint32_t>(product >> 64);
  }
  // Takes a cell from `rest` and a word of the line after it.
  template <class Layout>
  [[nodiscard, gnu::always_inline]] static CellPlace within(const Layout &l, std::uint64_t line,
                                                            std::uint32_t &rest) noexcept {
    const std::uint64_t cell = std::uint64_t{rest} * l.per_word;
    const auto left = static_cast<std::uint32_t>(cell);
    rest = left << 3;
    return {line + (left >> 29 >> (3 - l.line_shift)), static_cast<std::uint32_t>(cell >> 32) * l.width};
  }

  KeyHash hash_;
  std::uint64_t key_, factor_ = first_factor;
  std::uint64_t line_ = 0, first_line_ = 0;
  std::uint32_t rest_ = 0;
};

inline constexpr std::uint64_t seesaw_words_aligned(std::uint64_t words) noexcept {
  return round_up(words, 8);
}
[[nodiscard]] inline std::uint64_t seesaw_section_bytes(const SeesawHeader &header) noexcept {
  return sizeof header +
         8 * (seesaw_words_aligned(header.cell_words) + seesaw_words_aligned(header.modulator_words));
}

// The one kind of shape that family jhash has.
[[nodiscard]] inline bool is_jhash_shape(const SeesawHeader &h) noexcept {
  return h.positive_bits == 2 && h.negative_bits == 1 && h.adaptive == 1 && h.count_bits == 2 &&
         h.index_bits == 0 && h.backups == 1 && h.hashes >= 2 && h.hashes <= 6 &&
         std::has_single_bit(h.cell_words) && h.cell_words >= 8 && std::has_single_bit(h.modulator_words);
}

// What makes the parameters impossible, or nothing.
[[nodiscard]] inline const char *seesaw_objection(const SeesawHeader &h) noexcept {
  const auto outside = [](unsigned value, unsigned low, unsigned high) {
    return value < low || value > high;
  };
  if (h.cell_words == 0 || h.modulator_words == 0) return "cells or modulator are missing";
  if (outside(h.hashes, 1, seesaw_hashes_max)) return "hashes are not 1 to 16";
  if (outside(h.negative_bits, 1, 8) || outside(h.positive_bits, 1, 8) || h.adaptive > 1)
    return "cells are not of 1 to 8 negative and 1 to 8 positive bits";
  if (h.negative_bits + h.positive_bits + h.adaptive > static_cast<int>(cell_bits_max))
    return "cells exceed 16 bits";
  if (outside(h.count_bits, 1, 12) || h.index_bits > 4)
    return "modulator cells are not of 1 to 12 bits of count and at most 4 of index";
  if (outside(h.backups, 1, 1u << h.index_bits)) return "the index cannot number the backups";
  if (!is_stored_family(h.hash_family)) return "its family of hashes is unknown";
  if (family_stored_as(h.hash_family) == HashFamily::jhash && !is_jhash_shape(h))
    return "family jhash wants cells of 2 + 1 + 1 bits, a modulator of 2 bits, one backup, 2 to 6 hashes, "
           "and "
           "powers of two of words, a line of cells at least";
  if (h.reserved1 != decltype(h.reserved1){} || h.reserved != decltype(h.reserved){})
    return "reserved bytes are not zero";
  return nullptr;
}

[[nodiscard]] inline SeesawShape seesaw_shape(const SeesawHeader &h) noexcept {
  const auto low = [](unsigned bits) { return (std::uint32_t{1} << bits) - 1; };
  SeesawShape s;
  s.cells = CellArray::of(h.cell_words, h.negative_bits + h.positive_bits + h.adaptive);
  s.modulator = CellArray::of(h.modulator_words, h.count_bits + h.index_bits);
  s.line_shift = static_cast<std::uint32_t>(std::min(std::countr_zero(h.cell_words), 3));
  s.lines = h.cell_words >> s.line_shift;
  s.positive_mask = low(h.positive_bits);
  s.negative_mask = low(h.negative_bits) << h.positive_bits;
  s.adaptive_mask = h.adaptive ? std::uint32_t{1} << (h.positive_bits + h.negative_bits) : 0;
  s.count_mask = low(h.count_bits);
  s.index_mask = low(h.index_bits);
  s.count_bits = h.count_bits;
  s.hashes = h.hashes;
  s.backups = h.backups;
  const bool lean = h.positive_bits == 2 && h.negative_bits == 1 && h.count_bits == 2 && h.index_bits == 0 &&
                    s.line_shift == 3 && h.hashes < lean_adaptive;
  if (lean) s.lean_hashes = h.hashes | (h.adaptive ? lean_adaptive : 0);
  s.family = family_stored_as(h.hash_family);
  if (s.family == HashFamily::jhash) s.lean_hashes = any_jhash;
  return s;
}

// A section taken apart; Byte is std::byte, const for readers.
template <class Byte> struct SeesawSection {
  using Word = std::conditional_t<std::is_const_v<Byte>, const std::uint64_t, std::uint64_t>;
  SeesawShape shape;
  Word *cells = nullptr;
  Word *modulator = nullptr;
};

// Errors: the section is cut, misaligned or its parameters are impossible.
template <class Byte> [[nodiscard]] Result<SeesawSection<Byte>> open_seesaw_section(std::span<Byte> section) {
  SeesawHeader header;
  if (section.size() < sizeof header || reinterpret_cast<std::uintptr_t>(section.data()) % 8 != 0)
    return fail(Errc::bad_image,
                "seesaw filter: the section has no room for its header, build the image again");
  std::memcpy(&header, section.data(), sizeof header);
  if (const std::string objection =
          header_objection(load_unaligned<FilterHeader>(section.data()), FilterKind::seesaw);
      !objection.empty())
    return fail(Errc::bad_image, "seesaw filter: " + objection + ", build the image again");
  if (const char *objection = seesaw_objection(header))
    return fail(Errc::bad_image, std::string("seesaw filter: ") + objection + ", build the image again");
  if (seesaw_section_bytes(header) != section.size())
    return fail(Errc::bad_image,
                "seesaw filter: " + std::to_string(section.size()) + " bytes where the header asks for " +
                    std::to_string(seesaw_section_bytes(header)) + ", build the image again");
  using Word = typename SeesawSection<Byte>::Word;
  auto *words = reinterpret_cast<Word *>(section.data() + sizeof header);
  return SeesawSection<Byte>{seesaw_shape(header), words, words + seesaw_words_aligned(header.cell_words)};
}

} // namespace weir::filter
