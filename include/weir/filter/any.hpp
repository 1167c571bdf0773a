// Any base filter, opened by what its own header says (base_filter.hpp): who holds one need not know which.
//
//   a new kind    its own file, a number in FilterKind and a row in any.cpp
//   cost          one indirect call for each question or batch beside what the filter itself costs
//   errors        bad_image: those of the kind's attach(), and a kind that no row has
//
// Trivially copyable: the view of the kind lies in the object. attach() is the trust border, as that of the
// kind is; cells are not looked at, and whatever they hold, a probe stays inside them.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/base_filter.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <new>
#include <span>
#include <type_traits>

namespace weir::filter {

inline constexpr std::size_t any_view_bytes = 104; // of the largest view, a chained filter's

// A kind: how it is opened and asked. `view` is where its view lies.
struct FilterOps {
  FilterKind kind;
  std::size_t view_bytes;
  Status (*attach)(Bytes section, void *view);
  bool (*contains)(const void *view, KeyHash key) noexcept;
  HitMask (*contains_batch)(const void *view, std::span<const KeyHash> keys) noexcept;
};

// Views say it themselves, or their shapes do.
template <class View> [[nodiscard]] constexpr FilterKind kind_of_view() noexcept {
  if constexpr (requires { View::kind; })
    return View::kind;
  else
    return View::Shape::kind;
}

// The row of a view.
template <Filter View> [[nodiscard]] constexpr FilterOps ops_of() noexcept {
  static_assert(alignof(View) <= alignof(std::uint64_t));
  return {.kind = kind_of_view<View>(),
          .view_bytes = sizeof(View),
          .attach = [](Bytes section, void *view) -> Status {
            auto attached = TRY(View::attach(section));
            new (view) View(attached);
            return {};
          },
          .contains = [](const void *view, KeyHash key) noexcept -> bool {
            return static_cast<const View *>(view)->contains(key);
          },
          .contains_batch = [](const void *view, std::span<const KeyHash> keys) noexcept -> HitMask {
            return static_cast<const View *>(view)->contains_batch(keys);
          }};
}

// A row for each base filter, to be read while nobody writes, unless the filter itself says otherwise.
[[nodiscard]] std::span<const FilterOps> filter_kinds() noexcept;

// What a section's header says it is. Errors: bad_image, for what does not begin as filters do.
[[nodiscard]] Result<FilterKind> kind_of(Bytes section);
// The error of a place where this kind does not serve.
[[nodiscard]] std::unexpected<Error> does_not_serve(FilterKind kind);

// The row of a section's kind whose views have room. Errors: see above.
template <std::derived_from<FilterOps> Row>
[[nodiscard]] Result<const Row *> row_of(Bytes section, std::span<const Row> kinds, std::size_t view_bytes) {
  const FilterKind kind = TRY(kind_of(section));
  const auto row = std::ranges::find(kinds, kind, &Row::kind);
  if (row == kinds.end() || row->view_bytes > view_bytes) return does_not_serve(kind);
  return &*row;
}

template <std::size_t ViewBytes> class OpenedFilter {
public:
  OpenedFilter() = default; // of no filter: attach one before use

  // `row`, whose views have room, must outlive the filter.
  [[nodiscard]] static Result<OpenedFilter> attach(Bytes section, const FilterOps &row) {
    OpenedFilter opened{};
    opened.ops_ = &row;
    TRY(row.attach(section, opened.view_.data()));
    return opened;
  }
  [[nodiscard]] static Result<OpenedFilter> attach(Bytes section, std::span<const FilterOps> kinds) {
    return attach(section, *TRY(row_of(section, kinds, ViewBytes)));
  }
  [[nodiscard]] static Result<OpenedFilter> attach(Bytes section) { return attach(section, filter_kinds()); }

  [[nodiscard]] bool empty() const noexcept { return ops_ == nullptr; } // of no filter: do not ask it
  [[nodiscard]] FilterKind kind() const noexcept { return ops_->kind; }
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return ops_->contains(view_.data(), key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return ops_->contains_batch(view_.data(), keys);
  }

  [[nodiscard]] const void *view() const noexcept { return view_.data(); }
  // The view itself, if the filter is of this kind.
  template <Filter View> [[nodiscard]] const View *as() const noexcept {
    return ops_ != nullptr && ops_->kind == kind_of_view<View>()
               ? reinterpret_cast<const View *>(view_.data())
               : nullptr;
  }

private:
  const FilterOps *ops_ = nullptr;
  alignas(std::uint64_t) std::array<std::byte, ViewBytes> view_;
};
using AnyFilter = OpenedFilter<any_view_bytes>;
static_assert(Filter<AnyFilter>);

} // namespace weir::filter
