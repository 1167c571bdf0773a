// What people said about sources (weirctl offender mark, unmark), exactly and in memory of fixed size.
//
//   marked      an offender, whatever the memory knows
//   forgotten   none, whatever the memory knows, until it is told of the address again
//
// A table of hashes; each address has a window of two lines. The service thread writes, workers ask and lift what is
// forgotten; words are loaded and stored whole.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/hash.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::dataplane {

enum class Mark : std::uint8_t { none = 0, marked = 1, forgotten = 2 };

class Marks {
public:
  static constexpr std::size_t most = 4096; // of both kinds

  explicit Marks(std::uint64_t seed) : seed_(seed), places_(count) {}

  // ---- worker
  [[nodiscard]] bool empty() const noexcept { return in_use_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] Mark of(const Address &address) const noexcept {
    const std::uint64_t tag = tag_of(address);
    for (const Place &place : window(tag))
      if (const std::uint64_t word = place.word.load(std::memory_order_relaxed); (word & ~state_mask) == tag)
        return static_cast<Mark>(word & state_mask);
    return Mark::none;
  }
  // It was told again.
  void lift(const Address &address) noexcept {
    const std::uint64_t tag = tag_of(address);
    for (Place &place : window(tag)) {
      std::uint64_t word = tag | static_cast<std::uint64_t>(Mark::forgotten);
      if (place.word.compare_exchange_strong(word, 0, std::memory_order_relaxed))
        in_use_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  // ---- service thread
  // `told`: insertions so far; what was forgotten `keep` of them ago has to make room where there is none. False: there is none.
  [[nodiscard]] bool set(const Address &address, Mark mark, std::uint64_t told, std::uint64_t keep) noexcept {
    const std::uint64_t tag = tag_of(address);
    Place *at = nullptr;
    for (Place &place : window(tag)) {
      const std::uint64_t word = place.word.load(std::memory_order_relaxed);
      if ((word & ~state_mask) == tag) {
        at = &place;
        break;
      }
      if (at == nullptr && (word == 0 || is_outlived(place, told, keep))) at = &place;
    }
    const std::uint64_t before = at == nullptr ? 0 : at->word.load(std::memory_order_relaxed);
    if (mark == Mark::none) {
      if (at != nullptr && (before & ~state_mask) == tag) clear(*at);
      return true;
    }
    if (at == nullptr || (before == 0 && is_full(told, keep))) return false;
    at->told.store(told, std::memory_order_relaxed);
    if (at->word.exchange(tag | static_cast<std::uint64_t>(mark), std::memory_order_relaxed) == 0)
      in_use_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  [[nodiscard]] std::size_t size(Mark mark) const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(places_, [mark](const Place &place) {
      return (place.word.load(std::memory_order_relaxed) & state_mask) == static_cast<std::uint64_t>(mark);
    }));
  }

  // As words, for the disk; of the same seed.
  [[nodiscard]] static constexpr std::size_t saved_words() noexcept { return 2 * count; }
  void save(std::span<std::uint64_t> out) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      out[2 * i] = places_[i].word.load(std::memory_order_relaxed);
      out[2 * i + 1] = places_[i].told.load(std::memory_order_relaxed);
    }
  }
  void restore(std::span<const std::uint64_t> from) noexcept {
    std::size_t in_use = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t state = from[2 * i] & state_mask;
      const bool good = state == 1 || state == 2;
      places_[i].word.store(good ? from[2 * i] : 0, std::memory_order_relaxed);
      places_[i].told.store(from[2 * i + 1], std::memory_order_relaxed);
      in_use += good ? 1 : 0;
    }
    in_use_.store(in_use, std::memory_order_relaxed);
  }

private:
  static constexpr std::size_t count = 2 * most, window_places = 8;
  static constexpr std::uint64_t state_mask = 3;
  struct Place {
    std::atomic<std::uint64_t> word{0}; // hash of the address but for two bits, Mark; 0: nothing
    std::atomic<std::uint64_t> told{0}; // when; the service thread writes
  };

  // Never 0 but for the state.
  [[nodiscard]] std::uint64_t tag_of(const Address &address) const noexcept {
    const std::uint64_t family = address.family == Family::ipv6 ? 1 : 0;
    return (XXH3_64bits_withSeed(address.bytes.data(), address.bytes.size(), seed_ + family) | 4) &
           ~state_mask;
  }
  [[nodiscard]] std::span<Place> window(std::uint64_t tag) noexcept {
    return std::span(places_).subspan((tag >> 32) % (count / window_places) * window_places, window_places);
  }
  [[nodiscard]] std::span<const Place> window(std::uint64_t tag) const noexcept {
    return std::span(places_).subspan((tag >> 32) % (count / window_places) * window_places, window_places);
  }
  [[nodiscard]] bool is_full(std::uint64_t told, std::uint64_t keep) noexcept {
    if (in_use_.load(std::memory_order_relaxed) < most) return false;
    for (Place &place : places_)
      if (is_outlived(place, told, keep)) clear(place);
    return in_use_.load(std::memory_order_relaxed) >= most;
  }
  [[nodiscard]] static bool is_outlived(const Place &place, std::uint64_t told, std::uint64_t keep) noexcept {
    const std::uint64_t state = place.word.load(std::memory_order_relaxed) & state_mask;
    return state == static_cast<std::uint64_t>(Mark::forgotten) &&
           told - place.told.load(std::memory_order_relaxed) > keep;
  }
  void clear(Place &place) noexcept {
    if (place.word.exchange(0, std::memory_order_relaxed) != 0)
      in_use_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::uint64_t seed_;
  std::atomic<std::size_t> in_use_{0};
  std::vector<Place> places_;
};

} // namespace weir::dataplane
