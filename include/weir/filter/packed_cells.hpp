// Arrays of small cells in 64-bit words, and the places in them that a key is mapped to.
//
// A word holds floor(64 / width) cells of 1 to 16 bits, lowest bits first; no cell crosses a word, so
// one aligned load sees a whole cell and one aligned store changes it. What does not divide 64 is left
// over: one bit of 64 at width 3, four at 5 or 6. Nothing else is spent: bits charged are bits used.
//
//   width 3:   | cell 0 | cell 1 | ... | cell 20 | 1 bit unused |
//
// Any number of readers, one writer: words are loaded and stored atomically, never locked. A reader
// sees each cell as it was at some moment, and cells of different words at different moments.
//
// Many places come from one hash: Positions steps through a + i b + c i (i - 1) / 2 modulo 2^64, where
// a is the filter's own view of the key and b is a turned by half (double hashing after Kirsch and
// Mitzenmacher; the quadratic term keeps two keys' sequences from running along each other). The upper
// half of a step picks the word, what remains of it the cell.
#pragma once

#include "weir/base/hash.hpp"

#include <bit>
#include <cstdint>

namespace weir::filter {

inline constexpr unsigned cell_bits_max = 16;

// All bits set if `condition`, as a number that has to be computed: what cells hold is as good as random,
// and a branch on it would be guessed wrong.
[[nodiscard, gnu::always_inline]] inline std::uint64_t mask_if(bool condition) noexcept {
  std::uint64_t mask = std::uint64_t{0} - std::uint64_t{condition};
  asm("" : "+r"(mask));
  return mask;
}

// Where a cell stands.
struct CellPlace {
  std::uint64_t word = 0;
  std::uint32_t shift = 0;
  friend constexpr bool operator==(CellPlace, CellPlace) = default;
};

struct CellArray {
  std::uint32_t words = 0;
  std::uint32_t width = 1;    // bits of a cell
  std::uint32_t per_word = 1; // 64 / width

  [[nodiscard]] static constexpr CellArray of(std::uint32_t words, unsigned width) noexcept {
    return {words, width, 64 / width};
  }
  // The least words that hold so many cells.
  [[nodiscard]] static constexpr std::uint64_t words_for(std::uint64_t cells, unsigned width) noexcept {
    return (cells + 64 / width - 1) / (64 / width);
  }
  [[nodiscard]] constexpr std::uint64_t cells() const noexcept { return std::uint64_t{words} * per_word; }
  [[nodiscard]] constexpr std::uint32_t mask() const noexcept { return (std::uint32_t{1} << width) - 1; }

  // Uniform over all cells for a uniform number.
  [[nodiscard]] CellPlace place(std::uint64_t uniform) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{uniform} * words;
    const auto rest = static_cast<std::uint64_t>(product) >> 32;
    return {static_cast<std::uint32_t>(product >> 64),
            static_cast<std::uint32_t>((rest * per_word) >> 32) * width};
  }
};

// The bits of a word from the cell upwards; mask them.
[[nodiscard]] inline std::uint32_t load_cell(const std::uint64_t *words, CellPlace place) noexcept {
  return static_cast<std::uint32_t>(__atomic_load_n(&words[place.word], __ATOMIC_RELAXED) >> place.shift);
}

// The one writer's store: other cells of the word keep what they hold.
inline void store_cell(std::uint64_t *words, CellPlace place, std::uint32_t mask,
                       std::uint32_t value) noexcept {
  const std::uint64_t word = __atomic_load_n(&words[place.word], __ATOMIC_RELAXED);
  const std::uint64_t cleared = word & ~(std::uint64_t{mask} << place.shift);
  __atomic_store_n(&words[place.word], cleared | std::uint64_t{value} << place.shift, __ATOMIC_RELEASE);
}

// Always inlined: out of line the two numbers are stored one by one and loaded as a pair, and the load waits
// for both stores.
class Positions {
public:
  static constexpr std::uint64_t growth = 0x9E3779B97F4A7C15ull; // of the step

  Positions() = default; // of no key: assign one before use
  [[gnu::always_inline]] Positions(KeyHash key, std::uint64_t layer) noexcept
      : at_(remix(key, layer)), step_(std::rotl(at_, 32)) {}
  [[gnu::always_inline]] Positions(HashFamily family, KeyHash key, std::uint64_t layer) noexcept
      : at_(remix(family, key, layer)), step_(std::rotl(at_, 32)) {}

  // Places 0, 1, 2 ... in turn.
  [[nodiscard, gnu::always_inline]] std::uint64_t next() noexcept {
    const std::uint64_t now = at_;
    at_ += step_;
    step_ += growth;
    return now;
  }

private:
  std::uint64_t at_, step_;
};

} // namespace weir::filter
