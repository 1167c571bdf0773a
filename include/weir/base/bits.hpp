// Small arithmetic used everywhere: unaligned loads, range reduction, rounding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// The thread sanitizer sees races of single words only: kernels read word by word under it.
#if defined(__SANITIZE_THREAD__)
#define WEIR_WORDWISE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_WORDWISE 1
#endif
#endif

namespace weir {

static_assert(std::endian::native == std::endian::little, "images and wire messages are little-endian");

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline constexpr std::size_t cache_line_bytes = 64;

template <class T> [[nodiscard]] inline T load_unaligned(const void *from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

[[nodiscard]] constexpr std::uint16_t byteswap16(std::uint16_t v) noexcept { return __builtin_bswap16(v); }
[[nodiscard]] constexpr std::uint32_t byteswap32(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
[[nodiscard]] constexpr std::uint64_t byteswap64(std::uint64_t v) noexcept { return __builtin_bswap64(v); }

// Maps a uniform 32-bit number onto [0, size) without division (Lemire's fast range).
[[nodiscard]] constexpr std::uint32_t reduce(std::uint32_t uniform, std::uint32_t size) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{uniform} * size) >> 32);
}

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace weir
