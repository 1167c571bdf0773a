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

enum class GuardKind : std::uint8_t { none, seesaw, cuckoo, stacked };
[[nodiscard]] constexpr std::string_view name_of(GuardKind kind) noexcept {
  switch (kind) {
  case GuardKind::none: break;
  case GuardKind::seesaw: return "seesaw";
  case GuardKind::cuckoo: return "cuckoo";
  case GuardKind::stacked: return "stacked";
  }
  return "none";
}

class GuardView {
public:
  GuardView() = default;
  explicit GuardView(const filter::SeesawView &filter) noexcept : kind_(GuardKind::seesaw), seesaw_(filter) {}
  explicit GuardView(const filter::CuckooView &filter) noexcept : kind_(GuardKind::cuckoo), cuckoo_(filter) {}
  explicit GuardView(const filter::StackedCountingView &filter) noexcept
      : kind_(GuardKind::stacked), stacked_(filter) {}

  [[nodiscard]] GuardKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool empty() const noexcept { return kind_ == GuardKind::none; } // do not ask it

  // The filter, if it is of this kind.
  [[nodiscard]] const filter::SeesawView *seesaw() const noexcept {
    return kind_ == GuardKind::seesaw ? &seesaw_ : nullptr;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    if (kind_ == GuardKind::cuckoo) return cuckoo_.contains(key);
    return kind_ == GuardKind::stacked ? stacked_.contains(key) : seesaw_.contains(key);
  }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (kind_ == GuardKind::cuckoo) return cuckoo_.contains_batch(keys);
    return kind_ == GuardKind::stacked ? stacked_.contains_batch(keys) : seesaw_.contains_batch(keys);
  }

private:
  GuardKind kind_ = GuardKind::none;
  filter::SeesawView seesaw_;
  filter::CuckooView cuckoo_;
  filter::StackedCountingView stacked_;
};

} // namespace weir::image
