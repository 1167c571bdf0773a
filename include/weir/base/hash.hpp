// The one hash of production images: XXH3 64-bit of an address in network order, 4 or 16 bytes.
//
// The seed is the image's secret plus a constant per prefix length, so one address hashed at two
// lengths gives unrelated values and nobody outside can aim collisions. Tables and filters take
// disjoint parts of the hash, or remix it with a constant of their own (see remix()).
#pragma once

#include "weir/base/bits.hpp"

#include <bit>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {

// A hashed (address, length). Never mix with sequence numbers or other 64-bit values.
struct KeyHash {
  std::uint64_t bits = 0;
  friend constexpr bool operator==(KeyHash, KeyHash) = default;
};

enum class HashFamily : std::uint32_t { xxh3 = 1, jhash = 2 };

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

// A section's checksum: XXH3 of its bytes as built.
[[nodiscard]] inline std::uint64_t checksum(Bytes bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace weir
