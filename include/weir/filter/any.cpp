#include "weir/filter/any.hpp"

#include "weir/base/bits.hpp"
#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"
#include "weir/filter/xor_filter.hpp"

#include <algorithm>
#include <string>

namespace weir::filter {
namespace {

template <class View> constexpr FilterOps row = ops_of<View>(View::Shape::kind);

constexpr std::array rows{row<BloomView>,       row<SplitBlockView>, row<CountingBloomView>,
                          row<CuckooLayerView>, row<QuotientView>,   row<XorView>,
                          row<BinaryFuseView>};

} // namespace

std::span<const FilterOps> filter_kinds() noexcept { return rows; }

Result<AnyFilter> AnyFilter::attach(Bytes section, std::span<const FilterOps> kinds) {
  if (section.size() < sizeof(FilterHeader))
    return fail(Errc::bad_image, "filter: the section has no room for its header, build it again");
  const auto header = load_unaligned<FilterHeader>(section.data());
  if (header.magic != filter_magic)
    return fail(Errc::bad_image, "filter: the section does not begin as filters do, build it again");
  const auto kind = std::ranges::find(kinds, static_cast<FilterKind>(header.kind), &FilterOps::kind);
  if (kind == kinds.end())
    return fail(Errc::bad_image, "filter: kind " + std::to_string(header.kind) +
                                     " is unknown to this program, build it again");
  AnyFilter any;
  any.ops_ = &*kind;
  TRY(kind->attach(section, any.view_.data()));
  return any;
}

} // namespace weir::filter
