// The bytes of an image: one contiguous region in a memfd, header first, then the section table,
// then sections at 64-byte aligned offsets. Everything is little-endian; reserved bytes are zero.
// docs/image-format.md describes the same for people and changes in the same commit.
//
//   0            ImageHeader (192 bytes)
//   192          SectionEntry[section_count] (32 bytes each)
//   ...          sections, each 64-byte aligned, in the order of the table
//
// Sections flagged `mutable` are changed in place by the dataplane; their checksum describes them
// as built. Unknown kinds are refused unless flagged `optional`.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/image/policy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weir::image {

inline constexpr std::array<char, 8> magic{'W', 'E', 'I', 'R', 'I', 'M', 'G', '1'};
inline constexpr std::uint32_t format_version = 4;

using StoreId = std::array<std::uint8_t, 16>;
using Digest = std::array<std::uint8_t, 32>;

struct ImageHeader {
  std::array<char, 8> magic;
  std::uint32_t format_version;
  std::uint32_t header_bytes; // sizeof(ImageHeader)
  std::uint64_t total_bytes;  // of the image; the file may be longer (page rounding)
  std::uint64_t generation;
  StoreId store_id;          // which rule store this came from
  std::uint64_t sequence;    // the last delta contained
  std::uint64_t build_seed;  // secret; see base/hash.hpp
  std::uint32_t hash_family; // HashFamily
  std::uint32_t section_count;
  Digest rules_digest;            // of the effective rules and the policy
  std::uint64_t section_checksum; // of the section table
  std::array<std::uint8_t, 72> reserved;
  std::uint64_t header_checksum; // of all bytes before it
};
static_assert(sizeof(ImageHeader) == 192 && std::has_unique_object_representations_v<ImageHeader>);
static_assert(offsetof(ImageHeader, store_id) == 32 && offsetof(ImageHeader, rules_digest) == 72 &&
              offsetof(ImageHeader, header_checksum) == 184);

// Numbers are for ever: a kind is never reused for something else.
enum class SectionKind : std::uint32_t {
  policy = 1, // Policy
  lists = 2,  // ListsHeader, ListEntry[]

  deny_v4_table = 16, // TableHeader, lines; see table/
  deny_v6_table = 17,
  allow_v4_table = 18,
  allow_v6_table = 19,

  deny_v4_lengths = 20, // LengthMapHeader, cells
  deny_v6_lengths = 21, // LengthSetV6
  allow_v4_lengths = 22,
  allow_v6_lengths = 23,

  deny_v4_overlay = 24, // OverlayHeader, lines
  deny_v6_overlay = 25,
  allow_v4_overlay = 26,
  allow_v6_overlay = 27,

  deny_v4_front = 28, // FrontHeader, split-block Bloom blocks
  deny_v6_front = 29,

  deny_v4_chained = 32, // ChainHeader, layers: location predictor [Chained §5.3]
  deny_v6_chained = 33,
  allow_v4_chained = 34,
  allow_v6_chained = 35,

  allow_seesaw = 36, // SeesawHeader, cells, modulator: filter in front of the allow tables [SSCF]

  deny_stacked = 37, // DenyStackHeader, ranges, layers: denied hosts of both families [Stacked]

  allow_cuckoo = 40,  // CuckooHeader, words: another kind of filter there
  allow_stacked = 41, // StackHeader, three counting layers: another one

  // Reserved for what is to come; refused today unless flagged optional.
  offender_model = 38, // stable learned filter [SLBF]
  class_map = 39,      // names the list of an address in compact mode
};

inline constexpr std::uint32_t section_mutable = 1;  // changes after the build
inline constexpr std::uint32_t section_optional = 2; // may be skipped by a reader that does not know it

struct SectionEntry {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint64_t offset; // from the start of the image, a multiple of 64
  std::uint64_t bytes;
  std::uint64_t checksum; // XXH3 of the section as built
};
static_assert(sizeof(SectionEntry) == 32 && std::has_unique_object_representations_v<SectionEntry>);

// ---- lists -------------------------------------------------------------------------------------

enum class Side : std::uint8_t { deny = 0, allow = 1 };
[[nodiscard]] constexpr std::string_view name_of(Side side) noexcept {
  return side == Side::deny ? "deny" : "allow";
}

inline constexpr std::size_t list_name_bytes_max = 55;
// Values carry the list number plus one in 16 bits. The last one is nobody's list: a host denied by a filter
// that judges alone (compact mode) is counted there, since no table says which list it is on.
inline constexpr std::uint32_t lists_max = 65'534;
inline constexpr std::uint16_t compact_list = lists_max;
inline constexpr std::string_view compact_list_name = "compact";

struct ListsHeader {
  std::uint32_t count;
  std::array<std::uint8_t, 60> reserved;
};
static_assert(sizeof(ListsHeader) == 64);

struct ListEntry {
  std::uint16_t number; // what table values carry, minus one; 0 .. lists_max - 1
  std::uint8_t side;    // Side
  std::uint8_t reserved[5];
  std::array<char, list_name_bytes_max + 1> name; // zero-terminated, rest zero
};
static_assert(sizeof(ListEntry) == 64 && std::has_unique_object_representations_v<ListEntry>);

// ---- tables ------------------------------------------------------------------------------------

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

struct FrontHeader {
  std::uint32_t blocks; // of 32 bytes, at least 1
  std::uint32_t reserved0;
  std::uint64_t keys; // as built
  std::array<std::uint8_t, 48> reserved;
};
static_assert(sizeof(FrontHeader) == 64);

// A location predictor: the first layer's bits, padded to 64 bytes, then the deeper layers, each of
// `deep_words` words of 64 bits. Flagged optional: a reader may follow the lines' group bits instead.
inline constexpr unsigned chain_deep_layers_max = 6;
struct ChainHeader {
  std::uint32_t lines1;      // as in the table's header
  std::uint32_t groups;      // bits a line: 2, 4 or 8
  std::uint32_t exact;       // 1 while right for every stored key; falls, never rises (mutable)
  std::uint32_t deep_layers; // in use
  std::array<std::uint32_t, chain_deep_layers_max> deep_words; // of every layer there is room for
  std::uint64_t keys;                                          // as built
  std::array<std::uint8_t, 16> reserved;
};
static_assert(sizeof(ChainHeader) == 64 && std::has_unique_object_representations_v<ChainHeader>);

// A Seesaw counting filter: cells, padded to 64 bytes, then the modulator, padded alike. What the
// fields mean is said in filter/seesaw.hpp; counts are kept by the one writer (mutable).
struct SeesawHeader {
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
  std::uint64_t planned_keys;    // the sizes were chosen for so many
  std::uint64_t keys;            // present now (mutable)
  std::uint32_t guarded;         // negatives guarded (mutable)
  std::uint32_t modulator_used;  // modulator cells with a count (mutable)
  std::uint32_t modulator_stuck; // of these, at their maximum for ever (mutable)
  std::uint32_t cells_stuck;     // cells at their maximum for ever (mutable)
  std::array<std::uint8_t, 16> reserved;
};
static_assert(sizeof(SeesawHeader) == 64 && std::has_unique_object_representations_v<SeesawHeader>);
static_assert(offsetof(SeesawHeader, planned_keys) == 16 && offsetof(SeesawHeader, reserved) == 48);

// A cuckoo filter: words of 64 bits in which buckets of four fingerprints stand side by side, from the
// lowest bit up, and one word more, padded to 64 bytes. See filter/cuckoo.hpp.
struct CuckooHeader {
  std::uint32_t buckets; // at least 1
  std::uint8_t fingerprint_bits;
  std::array<std::uint8_t, 3> reserved0;
  std::uint64_t planned_keys; // the sizes were chosen for so many
  std::uint64_t keys;         // present now (mutable)
  std::array<std::uint8_t, 40> reserved;
};
static_assert(sizeof(CuckooHeader) == 64 && std::has_unique_object_representations_v<CuckooHeader>);
static_assert(offsetof(CuckooHeader, planned_keys) == 8 && offsetof(CuckooHeader, reserved) == 24);

// ---- denied hosts as a stacked filter ------------------------------------------------------------

// Its word about a host of the deny side: IPv4 /32, IPv6 /128. Shorter prefixes are not in it.
enum class StackRole : std::uint8_t {
  front = 0, // rejects: absent; accepts: ask the table
  judge = 1, // compact mode: the last word, there is no table of hosts
};
[[nodiscard]] constexpr std::string_view name_of(StackRole role) noexcept {
  return role == StackRole::judge ? "judge" : "front";
}

// Rates in the image are whole numbers of these parts.
inline constexpr double stack_rate_unit = 1e-12;
inline constexpr std::uint64_t stack_rate_max = 1'000'000'000'000;
[[nodiscard]] constexpr std::uint64_t stack_rate_parts(double rate) noexcept {
  const double parts = rate / stack_rate_unit + 0.5;
  if (!(parts > 0)) return 0;
  return parts < static_cast<double>(stack_rate_max) ? static_cast<std::uint64_t>(parts) : stack_rate_max;
}
[[nodiscard]] constexpr double stack_rate(std::uint64_t parts) noexcept {
  return static_cast<double>(parts) * stack_rate_unit;
}

// Then the ranges, IPv4 first, padded to 64 bytes, then a stack as filter/stacked_view.hpp has it.
inline constexpr unsigned deny_stack_depth_max = 9;
struct DenyStackHeader {
  std::uint8_t role; // StackRole
  std::array<std::uint8_t, 7> reserved0;
  std::uint64_t planned_keys;         // hosts that there is room for
  std::uint64_t psi, efpr, efpb;      // as planned, in stack_rate_unit
  std::uint32_t spared_v4, spared_v6; // ranges: addresses that a judge never denies
  std::array<std::uint8_t, 16> reserved;
};
static_assert(sizeof(DenyStackHeader) == 64 && std::has_unique_object_representations_v<DenyStackHeader>);
static_assert(offsetof(DenyStackHeader, psi) == 16 && offsetof(DenyStackHeader, spared_v4) == 40);

// Both ends belong to it; ranges ascend and never overlap.
struct SparedV4 {
  std::uint32_t first, last; // as numbers
};
struct SparedV6 {
  std::array<std::uint8_t, 16> first, last; // network order
};
static_assert(sizeof(SparedV4) == 8 && sizeof(SparedV6) == 32);

[[nodiscard]] constexpr std::uint64_t deny_stack_offset(std::uint32_t spared_v4,
                                                        std::uint32_t spared_v6) noexcept {
  return round_up(sizeof(DenyStackHeader) + spared_v4 * sizeof(SparedV4) + spared_v6 * sizeof(SparedV6),
                  cache_line_bytes);
}

// ---- values ------------------------------------------------------------------------------------

// The 32-bit value beside every key: bits 0..15 list number + 1 (0 = empty), 16..23 prefix length,
// 24..30 flags, 31 the group bit, which belongs to the slot's place and not to its key.
namespace value {
inline constexpr std::uint32_t list_mask = 0x0000FFFFu;
inline constexpr std::uint32_t match_mask = 0x00FFFFFFu; // list and length
inline constexpr std::uint32_t tombstone = 1u << 24;     // overlay only: the key is absent
inline constexpr std::uint32_t relief = 1u << 25;        // beside it: no rule put it there, it may give way
inline constexpr std::uint32_t group_bit = 1u << 31;

[[nodiscard]] constexpr std::uint32_t make(std::uint32_t list_number, unsigned length) noexcept {
  return (list_number + 1) | static_cast<std::uint32_t>(length) << 16;
}
[[nodiscard]] constexpr bool is_set(std::uint32_t v) noexcept { return (v & list_mask) != 0; }
[[nodiscard]] constexpr unsigned length_of(std::uint32_t v) noexcept { return (v >> 16) & 0xFF; }
[[nodiscard]] constexpr std::uint32_t list_of(std::uint32_t v) noexcept { return (v & list_mask) - 1; }
} // namespace value

} // namespace weir::image
