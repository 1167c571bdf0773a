// Which /48s of IPv6 have hosts below them? A bit for each, found by hash: an address whose bit is not set is no host,
// and its table need not be asked.
//
// Cost: a word of at most 128 KiB, for all but the largest lists less. A bit stays when its hosts have gone, and /48s
// share bits: then a table is asked in vain. Addresses chosen to share a bit gain no more than that.
#pragma once

#include "weir/table/line.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir::table {

class HostMarks {
public:
  static constexpr std::uint32_t words_min = 1u << 10, words_max = 1u << 15; // of 32 bits

  // 0: there are too many for marks to be of use, and none are kept.
  [[nodiscard]] static constexpr std::uint32_t words_for(std::uint64_t nets) noexcept {
    if (nets > words_max * std::uint64_t{4}) return 0;
    return std::clamp(std::bit_ceil(static_cast<std::uint32_t>(nets) / 4 + 1), words_min, words_max);
  }
  [[nodiscard]] static constexpr bool is_size(std::uint32_t words) noexcept {
    return words == 0 || (std::has_single_bit(words) && words >= words_min && words <= words_max);
  }

  HostMarks() = default; // no marks: any address may be a host
  HostMarks(const std::uint32_t *words, std::uint32_t count) noexcept
      : words_(count != 0 ? words : nullptr), shift_(59 - static_cast<unsigned>(std::countr_zero(count))) {}

  [[nodiscard]] bool may_have(const KeyV6 &address) const noexcept {
    if (words_ == nullptr) return true;
    const std::uint32_t bit = bit_of(address);
    return (read_relaxed(words_[bit / 32]) >> bit % 32 & 1) != 0;
  }
  // The first six bytes, spread over all bits.
  [[nodiscard]] std::uint32_t bit_of(const KeyV6 &address) const noexcept {
    return static_cast<std::uint32_t>((address.low << 16) * spread >> shift_);
  }

  static constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
  [[nodiscard]] const std::uint32_t *words() const noexcept { return words_; }
  [[nodiscard]] unsigned shift() const noexcept { return shift_; }

private:
  const std::uint32_t *words_ = nullptr;
  unsigned shift_ = 0;
};

// Of marks that are written to: the image's builder and its writer.
inline void mark_host(std::uint32_t *words, const HostMarks &marks, const KeyV6 &address) noexcept {
  const std::uint32_t bit = marks.bit_of(address);
  write_release(words[bit / 32], words[bit / 32] | 1u << bit % 32);
}

} // namespace weir::table
