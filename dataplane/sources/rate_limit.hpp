// The rate limits of packet rules: so many packets a second, and so many at once after a pause, of all workers together.
//
// What is kept is the time at which all that was let through would have come at exactly that rate. A packet may pass as
// long as that time is no further ahead of now than a burst takes. So a limit is one number in memory, changed by
// compare and exchange, and no worker has a share of its own that it may not need.
//
// Limits per source keep such a number for each of the latest sources, four in a set. A new source takes the number that lies
// furthest back, which is that of the source that was idle for longest; two workers that do so at once may let a packet too
// many pass, and never one too few.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/hash.hpp"
#include "weir/key/rule.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>

namespace weir::dataplane {

class RateLimit {
public:
  static constexpr std::uint32_t sets = 16'384; // of four sources

  // Packets a second, and at once: 1 to rule_rate_max.
  RateLimit(std::uint32_t packets, std::uint32_t burst, RulePer per)
      : step_(std::max<std::uint64_t>(units_a_second / packets, 1)), room_(step_ * burst),
        sources_(per == RulePer::source ? std::make_unique<Set[]>(sets) : nullptr),
        seed_(std::uint64_t{std::random_device()()} << 32 | std::random_device()()) {}

  [[nodiscard]] bool is_per_source() const noexcept { return sources_ != nullptr; }
  // Of an address as it stands in a packet. A host of IPv6 has a /64 to choose addresses from.
  [[nodiscard]] KeyHash source_of(const std::uint8_t *address, bool is_v6) const noexcept {
    return is_v6 ? KeyHash{XXH3_64bits_withSeed(address, 8, seed_)}
                 : hash_v4(load_unaligned<std::uint32_t>(address), seed_);
  }
  void prefetch(KeyHash source) const noexcept { __builtin_prefetch(&set_of(source)); }

  // May a packet pass? `now_ns` of any clock that goes on.
  [[nodiscard]] bool takes(std::uint64_t now_ns) noexcept { return takes(all_, now_ns * units_a_ns); }
  [[nodiscard]] bool takes(KeyHash source, std::uint64_t now_ns) noexcept {
    const std::uint64_t now = now_ns * units_a_ns, name = source.bits | 1; // 0 names nobody
    Set &set = set_of(source);
    std::size_t oldest = 0;
    for (std::size_t i = 0; i < set.name.size(); ++i) {
      if (set.name[i].load(std::memory_order_relaxed) == name) return takes(set.until[i], now);
      if (set.until[i].load(std::memory_order_relaxed) < set.until[oldest].load(std::memory_order_relaxed))
        oldest = i;
    }
    set.name[oldest].store(name, std::memory_order_relaxed);
    set.until[oldest].store(now, std::memory_order_relaxed);
    return takes(set.until[oldest], now);
  }

private:
  static constexpr std::uint64_t units_a_ns = 4, units_a_second = 4'000'000'000;

  struct alignas(cache_line_bytes) Set {
    std::array<std::atomic<std::uint64_t>, 4> name{}, until{};
  };
  static_assert(sizeof(Set) == cache_line_bytes);

  [[nodiscard]] bool takes(std::atomic<std::uint64_t> &until, std::uint64_t now) const noexcept {
    std::uint64_t before = until.load(std::memory_order_relaxed);
    for (;;) {
      // Clocks of workers differ by less than a second; a capture that begins anew goes back by more.
      const bool went_back = before > now + room_ + units_a_second;
      const std::uint64_t after = (went_back ? now : std::max(before, now)) + step_;
      if (after > now + room_) return false;
      if (until.compare_exchange_weak(before, after, std::memory_order_relaxed)) return true;
    }
  }
  [[nodiscard]] Set &set_of(KeyHash source) const noexcept {
    return sources_[reduce(static_cast<std::uint32_t>(source.bits >> 32), sets)];
  }

  std::uint64_t step_, room_; // between packets, and of a burst
  std::unique_ptr<Set[]> sources_;
  std::uint64_t seed_; // of their hashes, so that nobody outside can aim for one set
  std::atomic<std::uint64_t> all_{0};
};

} // namespace weir::dataplane
