// The hashes of images, one of two families each.
//
//   xxh3    production: XXH3 64-bit of an address in network order, 4 or 16 bytes
//   jhash   for P4 targets, which have 32-bit hashes of words and no multiplication: two runs of Jenkins'
//           lookup3, each led by one half of the seed. Sizes are powers of two there, so that what reduces
//           a hash to a size is a shift
//
// The seed is the image's secret plus a constant per prefix length, so one address hashed at two
// lengths gives unrelated values and nobody outside can aim collisions. Tables and filters take
// disjoint parts of the hash, or remix it with a constant of their own (see remix(), jhash_remix()).
#pragma once

#include "weir/base/bits.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {

// A hashed (address, length). Never mix with sequence numbers or other 64-bit values.
struct KeyHash {
  std::uint64_t bits = 0;
  friend constexpr bool operator==(KeyHash, KeyHash) = default;
};

enum class HashFamily : std::uint32_t { xxh3 = 1, jhash = 2 };
[[nodiscard]] constexpr std::string_view name_of(HashFamily family) noexcept {
  return family == HashFamily::jhash ? "jhash" : "xxh3";
}

// As filters keep it in their sections: 0 for xxh3, which came first and had no number there.
[[nodiscard]] constexpr std::uint32_t stored_family(HashFamily family) noexcept {
  return family == HashFamily::xxh3 ? 0 : static_cast<std::uint32_t>(family);
}
[[nodiscard]] constexpr HashFamily family_stored_as(std::uint32_t word) noexcept {
  return word == 0 ? HashFamily::xxh3 : static_cast<HashFamily>(word);
}
[[nodiscard]] constexpr bool is_stored_family(std::uint32_t word) noexcept {
  return word == 0 || word == static_cast<std::uint32_t>(HashFamily::jhash);
}

[[nodiscard]] constexpr std::uint64_t length_seed(std::uint64_t image_seed, unsigned prefix_length) noexcept {
  return image_seed + 0x9E3779B97F4A7C15ull * (prefix_length + 1);
}

// `wire` holds the four address bytes as they stand in the packet, already masked.
[[nodiscard]] inline KeyHash hash_v4(std::uint32_t wire, std::uint64_t seed) noexcept {
  return {XXH3_64bits_withSeed(&wire, sizeof wire, seed)};
}

// `address` points at sixteen bytes in network order, already masked.
[[nodiscard]] inline KeyHash hash_v6(const void *address, std::uint64_t seed) noexcept {
  return {XXH3_64bits_withSeed(address, 16, seed)};
}

// What XXH3 does to four and to sixteen bytes, spelled out so that kernels can do it to many keys at a
// time. Exactly the library's result; tests hold them together. The constants are words of XXH3's
// default secret, combined as the algorithm does.
namespace xxh3 {
inline constexpr std::uint64_t secret_v4 = 0xC73AB174C5ECD5A2ull; // words at 8 and 16
inline constexpr std::uint64_t secret_v6_low = 0x6782737BEA4239B9ull;
inline constexpr std::uint64_t secret_v6_high = 0xAF56BC3B0996523Aull;
inline constexpr std::uint64_t rrmxmx_factor = 0x9FB21C651E98DF25ull;
inline constexpr std::uint64_t avalanche_factor = 0x165667919E3779F9ull;

// All that a seed contributes to the hash of four bytes.
[[nodiscard]] constexpr std::uint64_t flip_v4(std::uint64_t seed) noexcept {
  return secret_v4 - (seed ^ std::uint64_t{__builtin_bswap32(static_cast<std::uint32_t>(seed))} << 32);
}

// hash_v4(wire, seed) from flip_v4(seed).
[[nodiscard]] constexpr KeyHash hash_flipped_v4(std::uint32_t wire, std::uint64_t flip) noexcept {
  std::uint64_t h = (wire | std::uint64_t{wire} << 32) ^ flip;
  h ^= std::rotl(h, 49) ^ std::rotl(h, 24);
  h *= rrmxmx_factor;
  h ^= (h >> 35) + 4;
  h *= rrmxmx_factor;
  return {h ^ h >> 28};
}
} // namespace xxh3

inline constexpr std::uint64_t remix_factor_1 = 0xFF51AFD7ED558CCDull;
inline constexpr std::uint64_t remix_factor_2 = 0xC4CEB9FE1A85EC53ull;

// Gives a layer an independent view of a hash (the finaliser of MurmurHash3, keyed by the layer).
[[nodiscard]] constexpr std::uint64_t remix(KeyHash key, std::uint64_t layer) noexcept {
  std::uint64_t x = key.bits ^ layer;
  x ^= x >> 33;
  x *= remix_factor_1;
  x ^= x >> 33;
  x *= remix_factor_2;
  x ^= x >> 33;
  return x;
}

// ---- family jhash ------------------------------------------------------------------------------

// lookup3, as its author describes it: three numbers, stirred after every three words of input.
namespace lookup3 {
struct State {
  std::uint32_t a, b, c;

  constexpr void mix() noexcept {
    turn(a, b, c, 4);
    turn(b, c, a, 6);
    turn(c, a, b, 8);
    turn(a, b, c, 16);
    turn(b, c, a, 19);
    turn(c, a, b, 4);
  }
  constexpr void finish() noexcept {
    fold(c, b, 14);
    fold(a, c, 11);
    fold(b, a, 25);
    fold(c, b, 16);
    fold(a, c, 4);
    fold(b, a, 14);
    fold(c, b, 24);
  }

private:
  static constexpr void turn(std::uint32_t &x, std::uint32_t y, std::uint32_t &z, int by) noexcept {
    x = (x - z) ^ std::rotl(z, by);
    z += y;
  }
  static constexpr void fold(std::uint32_t &x, std::uint32_t y, int by) noexcept {
    x = (x ^ y) - std::rotl(y, by);
  }
};
} // namespace lookup3

// Of `count` words, as their 4 count little-endian bytes, from the initial value 0: what DPDK's
// rte_jhash_32b gives, and the extern `hash jhash` of its pipelines over consecutive 32-bit fields.
[[nodiscard]] constexpr std::uint32_t jhash_words(const std::uint32_t *words, std::size_t count) noexcept {
  const std::uint32_t start = 0xDEADBEEFu + 4 * static_cast<std::uint32_t>(count);
  lookup3::State s{start, start, start};
  for (; count > 3; words += 3, count -= 3) {
    s.a += words[0];
    s.b += words[1];
    s.c += words[2];
    s.mix();
  }
  if (count == 0) return s.c;
  s.a += words[0];
  if (count > 1) s.b += words[1];
  if (count > 2) s.c += words[2];
  s.finish();
  return s.c;
}
[[nodiscard]] constexpr std::uint32_t jhash_words(std::initializer_list<std::uint32_t> words) noexcept {
  return jhash_words(words.begin(), words.size());
}

[[nodiscard]] constexpr std::uint32_t low_half(std::uint64_t v) noexcept {
  return static_cast<std::uint32_t>(v);
}
[[nodiscard]] constexpr std::uint32_t high_half(std::uint64_t v) noexcept {
  return static_cast<std::uint32_t>(v >> 32);
}

// As hash_v4(), of the address as a number behind each half of the seed.
[[nodiscard]] constexpr KeyHash jhash_v4(std::uint32_t wire, std::uint64_t seed) noexcept {
  const std::uint32_t host = byteswap32(wire);
  return {std::uint64_t{jhash_words({low_half(seed), host})} << 32 | jhash_words({high_half(seed), host})};
}

// As hash_v6(), of the address as four numbers, its first bytes first.
[[nodiscard]] inline KeyHash jhash_v6(const void *address, std::uint64_t seed) noexcept {
  std::uint32_t words[5];
  std::memcpy(words + 1, address, 16);
  for (unsigned i = 1; i < 5; ++i) words[i] = byteswap32(words[i]);
  words[0] = low_half(seed);
  const std::uint64_t high = jhash_words(words, 5);
  words[0] = high_half(seed);
  return {high << 32 | jhash_words(words, 5)};
}

// What remix() is to the other family.
[[nodiscard]] constexpr std::uint64_t jhash_remix(KeyHash key, std::uint64_t salt) noexcept {
  const std::uint32_t h0 = high_half(key.bits), h1 = low_half(key.bits);
  return std::uint64_t{jhash_words({low_half(salt), h0, h1})} << 32 | jhash_words({high_half(salt), h0, h1});
}

// ---- of either family; a branch each, so not for the loops of workers ------------------------------

[[nodiscard]] inline KeyHash hash_v4(HashFamily family, std::uint32_t wire, std::uint64_t seed) noexcept {
  return family == HashFamily::jhash ? jhash_v4(wire, seed) : hash_v4(wire, seed);
}
[[nodiscard]] inline KeyHash hash_v6(HashFamily family, const void *address, std::uint64_t seed) noexcept {
  return family == HashFamily::jhash ? jhash_v6(address, seed) : hash_v6(address, seed);
}
[[nodiscard]] constexpr std::uint64_t remix(HashFamily family, KeyHash key, std::uint64_t layer) noexcept {
  if (family == HashFamily::jhash) [[unlikely]]
    return jhash_remix(key, layer);
  return remix(key, layer);
}

// A section's checksum: XXH3 of its bytes as built.
[[nodiscard]] inline std::uint64_t checksum(Bytes bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace weir
