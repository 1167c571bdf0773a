// A bucket of a cuckoo table: one cache line of keys, values and group bits.
//
//   LineV4   | key 0..7: u32 in wire order          | value 0..7: u32                     |
//   LineV6   | key 0..2: 16 bytes in network order  | value 0..2: u32 | group bits: u32   |
//
// A value (image/layout.hpp, namespace value) holds list number + 1, prefix length and flags; zero
// list means an empty slot, whatever its key says, so every key is legal, 0.0.0.0 and :: included.
// Group bit g of a line of table 1 says "a key of group g of this bucket lives in table 2"
// (EMOMA, Pontarelli et al. 2017, in its simplest form). In LineV4 it is bit 31 of value[g] and
// belongs to that place, not to the key there.
//
// Readers run beside one writer. Only aligned words of 32 (keys of IPv6: 64) bits are taken to be
// atomic. The order that makes this safe, and which tests break on purpose to see it matter:
//
//   writer   key first, then value with release; a delete stores the value alone
//   reader   values first, then keys, then - for a word-by-word or two-halves load - the group bit
//
// Keys first would pair a stale key with the value of its successor. The group bit before the value
// would lose a key that moves from table 1 to table 2 in between.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/key/address.hpp"
#include "weir/table/value.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <emmintrin.h>
#include <span>

namespace weir::table {

// ---- words that one thread writes while others read ---------------------------------------------

template <class T> [[nodiscard]] inline T read_acquire(const T &word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class T> [[nodiscard]] inline T read_relaxed(const T &word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <class T> inline void write_release(T &word, T v) noexcept {
  __atomic_store_n(&word, v, __ATOMIC_RELEASE);
}
template <class T> inline void write_relaxed(T &word, T v) noexcept {
  __atomic_store_n(&word, v, __ATOMIC_RELAXED);
}

// Loads before it stay before it. A signal fence would be the standard's word for this, but clang 19
// sinks plain loads past one; an assembler statement that may read memory holds them.
inline void compiler_fence() noexcept { asm volatile("" : : : "memory"); }

// The same, and the two vectors are in registers by now: their loads cannot be sunk or repeated later.
inline void loaded_by_now(__m128i &a, __m128i &b) noexcept {
  asm volatile("" : "+x"(a), "+x"(b) : : "memory");
}

// ---- lines -------------------------------------------------------------------------------------

struct alignas(16) KeyV6 {
  std::uint64_t low = 0, high = 0; // bytes 0..7 and 8..15 as loaded
  friend constexpr bool operator==(KeyV6, KeyV6) = default;

  [[nodiscard]] static KeyV6 load(const void *sixteen_bytes) noexcept {
    return load_unaligned<KeyV6>(sixteen_bytes);
  }
};

[[nodiscard]] inline KeyV6 key_mask_v6(unsigned length) noexcept {
  Address ones;
  ones.bytes.fill(0xFF);
  return KeyV6::load(masked(ones, length).bytes.data());
}

struct alignas(cache_line_bytes) LineV4 {
  using Key = std::uint32_t;
  static constexpr unsigned slots = 8, groups = 8;
  static constexpr Family family = Family::ipv4;
  std::uint32_t key[slots];
  std::uint32_t value[slots];
};

struct alignas(cache_line_bytes) LineV6 {
  using Key = KeyV6;
  static constexpr unsigned slots = 3, groups = 32;
  static constexpr Family family = Family::ipv6;
  KeyV6 key[slots];
  std::uint32_t value[slots];
  std::uint32_t group_bits;
};
static_assert(sizeof(LineV4) == 64 && sizeof(LineV6) == 64);

[[nodiscard]] inline KeyHash hash_of(std::uint32_t wire, std::uint64_t seed,
                                     HashFamily family = HashFamily::xxh3) noexcept {
  return hash_v4(family, wire, seed);
}
[[nodiscard]] inline KeyHash hash_of(const KeyV6 &key, std::uint64_t seed,
                                     HashFamily family = HashFamily::xxh3) noexcept {
  return hash_v6(family, &key, seed);
}

// How the keys of an image are hashed: a seed for each prefix length, which it does not own, and the family.
struct KeyHasher {
  template <class Seeds>
    requires std::convertible_to<const Seeds &, std::span<const std::uint64_t>>
  KeyHasher(const Seeds &of_lengths, HashFamily of = HashFamily::xxh3) noexcept
      : seeds(of_lengths), family(of) {}
  [[nodiscard]] KeyHash operator()(const auto &key, unsigned length) const noexcept {
    return hash_of(key, seeds[length], family);
  }

  std::span<const std::uint64_t> seeds;
  HashFamily family;
};

// The high half of a hash names the line of table 1, the low half that of table 2; the group takes
// the lowest bits of the low half, which multiply-and-shift leaves all but unused there.
[[nodiscard]] constexpr std::uint32_t half1(KeyHash h) noexcept {
  return static_cast<std::uint32_t>(h.bits >> 32);
}
[[nodiscard]] constexpr std::uint32_t half2(KeyHash h) noexcept { return static_cast<std::uint32_t>(h.bits); }
template <class Line> [[nodiscard]] constexpr unsigned group_of(KeyHash h) noexcept {
  return static_cast<unsigned>(h.bits & (Line::groups - 1));
}

[[nodiscard]] inline bool group_bit(const LineV4 &line, unsigned group) noexcept {
  return (read_relaxed(line.value[group]) & value::group_bit) != 0;
}
[[nodiscard]] inline bool group_bit(const LineV6 &line, unsigned group) noexcept {
  return (read_relaxed(line.group_bits) >> group & 1) != 0;
}

[[nodiscard]] inline std::uint32_t read_key(const std::uint32_t &key) noexcept { return read_relaxed(key); }
[[nodiscard]] inline KeyV6 read_key(const KeyV6 &key) noexcept {
  return {read_relaxed(key.low), read_relaxed(key.high)};
}
inline void write_key(std::uint32_t &slot, std::uint32_t key) noexcept { write_relaxed(slot, key); }
inline void write_key(KeyV6 &slot, KeyV6 key) noexcept {
  write_relaxed(slot.low, key.low);
  write_relaxed(slot.high, key.high);
}

// ---- one probe of one line ---------------------------------------------------------------------

// Which loads come first. Production uses ValuesFirst; tests swap the order to prove that they would
// notice, and let `between` run while a writer changes the line.
struct ValuesFirst {
  static constexpr bool values_first = true;
  static void between() noexcept {}
};

// True when `value` names a list and carries this length.
[[nodiscard]] constexpr bool answers(std::uint32_t value, unsigned length) noexcept {
  return value::is_set(value) && value::length_of(value) == length;
}

// The value stored beside (key, length) in this line, or 0. Reads word by word: the portable form.
template <class Order = ValuesFirst, class Line>
[[nodiscard]] inline std::uint32_t find_wordwise(const Line &line, const typename Line::Key &key,
                                                 unsigned length) noexcept {
  for (unsigned slot = 0; slot < Line::slots; ++slot) {
    if constexpr (Order::values_first) {
      const std::uint32_t v = read_acquire(line.value[slot]);
      Order::between();
      if (answers(v, length) && read_key(line.key[slot]) == key) return v & ~value::group_bit;
    } else {
      const bool same = read_key(line.key[slot]) == key;
      compiler_fence();
      Order::between();
      const std::uint32_t v = read_acquire(line.value[slot]);
      if (same && answers(v, length)) return v & ~value::group_bit;
    }
  }
  return 0;
}

[[nodiscard]] inline std::uint32_t find_in(const LineV4 &line, std::uint32_t key, unsigned length) noexcept {
#ifdef WEIR_WORDWISE
  return find_wordwise(line, key, length);
#else
  const auto *values = reinterpret_cast<const __m128i *>(line.value);
  const auto *keys = reinterpret_cast<const __m128i *>(line.key);
  __m128i v0 = _mm_load_si128(values), v1 = _mm_load_si128(values + 1);
  loaded_by_now(v0, v1); // x86 keeps the order of loads; this keeps the compiler from changing it
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(key));
  const __m128i same0 = _mm_cmpeq_epi32(_mm_load_si128(keys), wanted);
  const __m128i same1 = _mm_cmpeq_epi32(_mm_load_si128(keys + 1), wanted);
  const int hit = _mm_movemask_ps(_mm_castsi128_ps(same0)) | _mm_movemask_ps(_mm_castsi128_ps(same1)) << 4;
  if (hit == 0) return 0;
  alignas(16) std::uint32_t seen[LineV4::slots];
  _mm_store_si128(reinterpret_cast<__m128i *>(seen), v0);
  _mm_store_si128(reinterpret_cast<__m128i *>(seen) + 1, v1);
  for (auto rest = static_cast<unsigned>(hit); rest != 0;
       rest &= rest - 1) { // nested prefixes share an address
    const std::uint32_t v = seen[std::countr_zero(rest)];
    if (answers(v, length)) return v & ~value::group_bit;
  }
  return 0;
#endif
}

[[nodiscard]] inline std::uint32_t find_in(const LineV6 &line, const KeyV6 &key, unsigned length) noexcept {
  return find_wordwise(line, key, length);
}

} // namespace weir::table
