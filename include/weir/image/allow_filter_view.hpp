// The filter in front of the allow tables as a reader sees it: whatever its section's header says it is, of
// the kinds that one writer may change beside readers (allow_filter_kinds()), or none. None of them refuses
// a key that an allow table has.
#pragma once

#include "weir/filter/any.hpp"
#include "weir/filter/seesaw.hpp"

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

// Seesaw and cuckoo filter, and a stack of three counting layers.
[[nodiscard]] std::span<const filter::FilterOps> allow_filter_kinds() noexcept;

class AllowFilterView {
public:
  AllowFilterView() = default;

  // Errors: bad_image, those of the filter, and a kind that is not among allow_filter_kinds().
  [[nodiscard]] static Result<AllowFilterView> attach(Bytes section) {
    AllowFilterView view;
    view.filter_ = TRY(Opened::attach(section, allow_filter_kinds()));
    return view;
  }

  [[nodiscard]] AllowFilterKind kind() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return filter_.empty(); } // do not ask it

  // The filter, if it is of this kind.
  [[nodiscard]] const filter::SeesawView *seesaw() const noexcept { return filter_.as<filter::SeesawView>(); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return filter_.contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return filter_.contains_batch(keys);
  }

  static constexpr std::size_t view_bytes = 208; // of the largest, a stack's

private:
  using Opened = filter::OpenedFilter<view_bytes>;

  Opened filter_{};
};

} // namespace weir::image
