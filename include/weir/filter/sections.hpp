// How the sections of filters begin in an image. docs/image-format.md has the same for people.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weir::filter {

// In front of a table: split-block Bloom blocks, see filter/split_block_bloom.hpp.
struct FrontHeader {
  std::uint32_t blocks; // of 32 bytes, at least 1
  std::uint32_t reserved0;
  std::uint64_t keys; // as built
  std::array<std::uint8_t, 48> reserved;
};
static_assert(sizeof(FrontHeader) == 64);

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

} // namespace weir::filter
