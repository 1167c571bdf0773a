// The one hash of production images: XXH3 64-bit of an address in network order, 4 or 16 bytes.
//
// The seed is the image's secret plus a constant per prefix length, so one address hashed at two
// lengths gives unrelated values and nobody outside can aim collisions. Tables and filters take
// disjoint parts of the hash, or remix it with a constant of their own (see remix()).
#pragma once

#include "weir/base/bits.hpp"

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

// Gives a layer an independent view of a hash (the finaliser of MurmurHash3, keyed by the layer).
[[nodiscard]] constexpr std::uint64_t remix(KeyHash key, std::uint64_t layer) noexcept {
  std::uint64_t x = key.bits ^ layer;
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDull;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ull;
  x ^= x >> 33;
  return x;
}

// A section's checksum: XXH3 of its bytes as built.
[[nodiscard]] inline std::uint64_t checksum(Bytes bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace weir
