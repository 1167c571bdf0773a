#include "weir/image/allow_filter_view.hpp"

#include "weir/filter/cuckoo.hpp"
#include "weir/filter/stacked_counting.hpp"

#include <algorithm>
#include <array>

namespace weir::image {
namespace {

using filter::FilterKind, filter::FilterOps, filter::ops_of;

constexpr std::array rows{ops_of<filter::SeesawView>(), ops_of<filter::CuckooView>(),
                          ops_of<filter::StackedCountingView>()};

constexpr AllowFilterKind allow_kind_of(FilterKind kind) noexcept {
  switch (kind) {
  case FilterKind::seesaw: return AllowFilterKind::seesaw;
  case FilterKind::cuckoo: return AllowFilterKind::cuckoo;
  case FilterKind::stack: return AllowFilterKind::stacked;
  default: return AllowFilterKind::none;
  }
}

static_assert(std::ranges::all_of(rows, [](const FilterOps &row) {
  return row.view_bytes <= AllowFilterView::view_bytes && allow_kind_of(row.kind) != AllowFilterKind::none;
}));

} // namespace

std::span<const FilterOps> allow_filter_kinds() noexcept { return rows; }

AllowFilterKind AllowFilterView::kind() const noexcept {
  return empty() ? AllowFilterKind::none : allow_kind_of(filter_.kind());
}

} // namespace weir::image
