// The filter in front of the allow tables as a reader sees it: whatever its section's header says it is, of
// the kinds that one writer may change beside readers (allow_filter_kinds.hpp), or none. None of them refuses
// a key that an allow table has.
#pragma once

#include "weir/filter/any.hpp"
#include "weir/image/allow_filter_kinds.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace weir::image {

class AllowFilterView {
public:
  AllowFilterView() = default;

  // `kinds` must outlive the view. Errors: bad_image, those of the filter, and a kind that is not among them.
  [[nodiscard]] static Result<AllowFilterView>
  attach(Bytes section, std::span<const AllowFilterOps> kinds = allow_filter_kinds()) {
    AllowFilterView view;
    view.ops_ = TRY(filter::row_of(section, kinds, view_bytes));
    view.filter_ = TRY(Opened::attach(section, *view.ops_));
    return view;
  }

  [[nodiscard]] bool empty() const noexcept { return filter_.empty(); } // do not ask it
  [[nodiscard]] std::string_view name() const noexcept { return empty() ? "none" : ops_->name; }
  // Of the hashes that it takes.
  [[nodiscard]] HashFamily family() const noexcept { return ops_->family(filter_.view()); }

  // The filter, if it is of this kind.
  template <filter::Filter View> [[nodiscard]] const View *as() const noexcept {
    return filter_.template as<View>();
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return filter_.contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return filter_.contains_batch(keys);
  }

  // For the one who writes, of the section that this is a view of. Errors: bad_image, as attach().
  [[nodiscard]] Result<std::unique_ptr<DynamicFilter>> open(MutableBytes section) const {
    return ops_->open(section);
  }

  static constexpr std::size_t view_bytes = 208; // of the largest, a stack's

private:
  using Opened = filter::OpenedFilter<view_bytes>;

  Opened filter_{};
  const AllowFilterOps *ops_ = nullptr;
};

} // namespace weir::image
