// The filter in front of the allow tables as a reader sees it: a Seesaw counting filter, a cuckoo filter, a
// stack of three counting layers, or none. None of them refuses a key that an allow table has.
#pragma once

#include "weir/filter/cuckoo.hpp"
#include "weir/filter/seesaw.hpp"
#include "weir/filter/stacked_counting.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::image {

enum class AllowFilterKind : std::uint8_t { none, seesaw, cuckoo, stacked };
[[nodiscard]] constexpr std::string_view name_of(AllowFilterKind kind) noexcept {
  switch (kind) {
  case AllowFilterKind::none: break;
  case AllowFilterKind::seesaw: return "seesaw";
  case AllowFilterKind::cuckoo: return "cuckoo";
  case AllowFilterKind::stacked: return "stacked";
  }
  return "none";
}

class AllowFilterView {
public:
  AllowFilterView() = default;
  explicit AllowFilterView(const filter::SeesawView &filter) noexcept
      : kind_(AllowFilterKind::seesaw), seesaw_(filter) {}
  explicit AllowFilterView(const filter::CuckooView &filter) noexcept
      : kind_(AllowFilterKind::cuckoo), cuckoo_(filter) {}
  explicit AllowFilterView(const filter::StackedCountingView &filter) noexcept
      : kind_(AllowFilterKind::stacked), stacked_(filter) {}

  [[nodiscard]] AllowFilterKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool empty() const noexcept { return kind_ == AllowFilterKind::none; } // do not ask it

  // The filter, if it is of this kind.
  [[nodiscard]] const filter::SeesawView *seesaw() const noexcept {
    return kind_ == AllowFilterKind::seesaw ? &seesaw_ : nullptr;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    if (kind_ == AllowFilterKind::cuckoo) return cuckoo_.contains(key);
    return kind_ == AllowFilterKind::stacked ? stacked_.contains(key) : seesaw_.contains(key);
  }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (kind_ == AllowFilterKind::cuckoo) return cuckoo_.contains_batch(keys);
    return kind_ == AllowFilterKind::stacked ? stacked_.contains_batch(keys) : seesaw_.contains_batch(keys);
  }

private:
  AllowFilterKind kind_ = AllowFilterKind::none;
  filter::SeesawView seesaw_;
  filter::CuckooView cuckoo_;
  filter::StackedCountingView stacked_;
};

} // namespace weir::image
