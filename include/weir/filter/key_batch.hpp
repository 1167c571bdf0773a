// Keys of a batch that are asked about again, and where they stood.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/filter/batch.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::filter {

// Keys are written before they are read, so that nothing is cleared: that would take as long as some questions.
class KeyBatch {
public:
  KeyBatch() noexcept {} // NOLINT: leaves bytes_ as they are
  KeyBatch(std::span<const KeyHash> keys, HitMask chosen) noexcept {
    for (; chosen != 0; chosen &= chosen - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(chosen));
      add(keys[at], at);
    }
  }

  void clear() noexcept { count_ = 0; }
  void add(KeyHash key, unsigned place) noexcept {
    reinterpret_cast<KeyHash *>(bytes_.data())[count_] = key;
    places_[count_++] = static_cast<std::uint8_t>(place);
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] KeyHash operator[](std::size_t n) const noexcept { return keys()[n]; }
  [[nodiscard]] unsigned place(std::size_t n) const noexcept { return places_[n]; }
  [[nodiscard]] std::span<const KeyHash> keys() const noexcept {
    return {reinterpret_cast<const KeyHash *>(bytes_.data()), count_};
  }
  // Answers about keys() -> answers about the batch that they were chosen from.
  [[nodiscard]] HitMask placed(HitMask hits) const noexcept {
    HitMask out = 0;
    for (; hits != 0; hits &= hits - 1)
      out |= HitMask{1} << places_[static_cast<std::size_t>(std::countr_zero(hits))];
    return out;
  }

private:
  std::size_t count_ = 0;
  std::array<std::uint8_t, batch_max> places_;
  alignas(KeyHash) std::array<std::byte, batch_max * sizeof(KeyHash)> bytes_;
};

} // namespace weir::filter
