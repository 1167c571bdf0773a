// How the sections of tables begin in an image: tables, words of hosts, length maps, overlays, location predictors.
// docs/image-format.md has the same for people.
#pragma once

#include "weir/filter/base_filter.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weir::table {

// One cuckoo table: lines of table 1, lines of table 2, then stash lines, each 64 bytes.
struct TableHeader {
  std::uint32_t lines1;      // buckets of table 1, at least 1
  std::uint32_t lines2;      // buckets of table 2, at least 1
  std::uint32_t stash_lines; // lines after table 2
  std::uint32_t stash_keys;  // keys living in the stash (mutable, only grows within an image)
  std::uint64_t keys;        // as built
  std::array<std::uint8_t, 40> reserved;
};
static_assert(sizeof(TableHeader) == 64);

// Hosts in words (table/word_line.hpp): this, then lines. The table of the same side and family has what they do not.
inline constexpr std::uint32_t word_form = 1; // the one form of lines of hosts that there is
struct WordHeader {
  std::uint32_t form;
  std::uint32_t lines; // WordTableView::lines_least to lines_most
  std::uint64_t keys;  // as built, in words and in the table
  std::array<std::uint8_t, 48> reserved;
};
static_assert(sizeof(WordHeader) == 64 && std::has_unique_object_representations_v<WordHeader>);

// IPv4: which lengths from 17 to 32 are in use below each /16, and the longest shorter prefix.
struct LengthMapHeader {
  std::uint32_t default_value; // of 0.0.0.0/0; 0 = none (mutable)
  std::uint32_t in_use;        // bit l - 1: this side has had a prefix of length l, 1 to 32 (mutable)
  std::array<std::uint8_t, 56> reserved;
};
static_assert(sizeof(LengthMapHeader) == 64);
// Behind it u64 cells (low half value, bits 32.. lengths 17..32), then u32 words with two bits a cell; see
// table/length_map.hpp.
inline constexpr std::uint32_t length_map_cells = 65'536;
inline constexpr std::uint32_t length_map_words = length_map_cells / 16;
inline constexpr std::uint64_t length_map_bytes =
    sizeof(LengthMapHeader) + length_map_cells * std::uint64_t{8} + length_map_words * std::uint64_t{4};

// IPv6: bit l of word l / 64 is set when prefixes of length l are in use.
struct LengthSetV6 {
  std::array<std::uint64_t, 3> in_use; // mutable
  std::array<std::uint8_t, 40> reserved;
};
static_assert(sizeof(LengthSetV6) == 64);

// Additions and tombstones: `lines` buckets of the family's line format; a key may stand in either
// of its two buckets. Asked before the table while `keys` is not 0.
struct OverlayHeader {
  std::uint32_t lines; // at least 2
  std::uint32_t keys;  // mutable, never falls within an image
  std::array<std::uint8_t, 56> reserved;
};
static_assert(sizeof(OverlayHeader) == 64);

// A location predictor: the first layer's bits, padded to 64 bytes, then the deeper layers, each of
// `deep_words` words of 64 bits. Flagged optional: a reader may follow the lines' group bits instead.
inline constexpr unsigned chain_deep_layers_max = 6;
// Begins as a FilterHeader does: the first four numbers are its shape words.
struct ChainHeader {
  std::array<char, 8> magic; // filter::filter_magic
  std::uint32_t kind;        // filter::FilterKind::chained_predictor
  std::uint32_t reserved0;
  std::uint32_t lines1;      // as in the table's header
  std::uint32_t groups;      // bits a line: 2, 4 or 8
  std::uint32_t exact;       // 1 while right for every stored key; falls, never rises (mutable)
  std::uint32_t deep_layers; // in use
  std::array<std::uint64_t, 2> reserved1;
  std::uint64_t keys; // as built
  std::uint64_t reserved2;
  std::array<std::uint32_t, chain_deep_layers_max> deep_words; // of every layer there is room for
  std::array<std::uint8_t, 40> reserved;
};
static_assert(sizeof(ChainHeader) == 128 && std::has_unique_object_representations_v<ChainHeader>);
static_assert(offsetof(ChainHeader, lines1) == offsetof(filter::FilterHeader, shape) &&
              offsetof(ChainHeader, keys) == offsetof(filter::FilterHeader, keys) &&
              offsetof(ChainHeader, deep_words) == sizeof(filter::FilterHeader));

} // namespace weir::table
