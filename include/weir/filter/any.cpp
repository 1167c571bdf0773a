#include "weir/filter/any.hpp"

#include "weir/base/bits.hpp"
#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/chained_filter.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/ribbon.hpp"
#include "weir/filter/split_block_filter.hpp"
#include "weir/filter/xor_filter.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace weir::filter {
namespace {

constexpr std::array rows{ops_of<BloomView>(),         ops_of<SplitBlockView>(),
                          ops_of<CountingBloomView>(), ops_of<CuckooLayerView>(),
                          ops_of<QuotientView>(),      ops_of<XorView>(),
                          ops_of<BinaryFuseView>(),    ops_of<BinaryFuse4View>(),
                          ops_of<ChainedFilterView>(), ops_of<ChainedSharedFilterView>(),
                          ops_of<RibbonFilterView>()};
static_assert(std::ranges::all_of(rows, [](auto &row) { return row.view_bytes <= any_view_bytes; }));

} // namespace

std::span<const FilterOps> filter_kinds() noexcept { return rows; }

Result<FilterKind> kind_of(Bytes section) {
  if (section.size() < sizeof(FilterHeader))
    return fail(Errc::bad_image, "filter: the section has no room for its header, build it again");
  const auto header = load_unaligned<FilterHeader>(section.data());
  if (header.magic != filter_magic)
    return fail(Errc::bad_image, "filter: the section does not begin as filters do, build it again");
  return static_cast<FilterKind>(header.kind);
}

std::unexpected<Error> does_not_serve(FilterKind kind) {
  return fail(Errc::bad_image, "filter: kind " + std::to_string(static_cast<std::uint32_t>(kind)) + " (" +
                                   name_of(kind) + ") does not serve here, build it again");
}

} // namespace weir::filter
