#include "weir/image/allow_filter_kinds.hpp"

#include "weir/filter/cuckoo_writer.hpp"
#include "weir/filter/seesaw_writer.hpp"
#include "weir/filter/stacked_counting.hpp"
#include "weir/image/allow_filter_view.hpp"

#include <algorithm>
#include <array>

namespace weir::image {
namespace {

constexpr std::array rows{
    allow_filter_ops<filter::SeesawView, filter::SeesawWriter>("seesaw"),
    allow_filter_ops<filter::CuckooView, filter::CuckooWriter>("cuckoo"),
    allow_filter_ops<filter::StackedCountingView, filter::StackedCountingWriter>("stacked"),
};
static_assert(std::ranges::all_of(rows,
                                  [](auto &row) { return row.view_bytes <= AllowFilterView::view_bytes; }));

} // namespace

std::span<const AllowFilterOps> allow_filter_kinds() noexcept { return rows; }

const AllowFilterOps *allow_filter_named(std::string_view name) noexcept {
  const auto *row = std::ranges::find(rows, name, &AllowFilterOps::name);
  return row == rows.end() ? nullptr : row;
}

} // namespace weir::image
