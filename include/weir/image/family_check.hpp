// Does an image hold what its hash family can serve?
//
// Family jhash is for targets whose programs are fixed before the rules are known, with shifts in place of
// multiplications. So every number that a hash is reduced to is a power of two, one line answers any key
// (a chained predictor on all sides), the deny side has no front filter or a stack of Bloom layers in
// front of its tables, and the allow side none or a filter that has a form for the family: of the kinds that
// weir has a Seesaw filter of one kind of shape (filter/seesaw_shape.hpp). Filters remix hashes as the family
// of their image does.
//
// Part of the trust border: whoever is handed a view of family jhash may rely on all of this. That a
// predictor is in force and a stash empty is no matter of shape: builders see to it, and readers ask.
#pragma once

#include "weir/image/view.hpp"

#include <bit>
#include <cstdint>

namespace weir::image {

namespace detail {

template <class Line> [[nodiscard]] const char *jhash_side_objection(const SideView<Line> &side) noexcept {
  const auto power_of_two = [](std::uint32_t size) { return std::has_single_bit(size); };
  if (!power_of_two(side.table.count1) || !power_of_two(side.table.count2))
    return "a table whose lines are no power of two";
  if (!power_of_two(side.overlay.count)) return "an overlay whose lines are no power of two";
  if (!side.front.empty()) return "a split-block front filter";
  if (!side.words.empty()) return "hosts in words";
  if (side.chain.empty()) return "a table without a chained predictor";
  for (unsigned i = 0; i < side.chain.deep_layers(); ++i)
    if (!power_of_two(side.chain.deep_layer(i).count)) return "a predictor whose layers are no power of two";
  return nullptr;
}

[[nodiscard]] inline const char *jhash_objection(const ImageView &view) noexcept {
  for (const Side side : both_sides) {
    if (!view.ranges_v4[side].empty() || !view.ranges_v6[side].empty()) return "prefixes as ranges";
    if (const char *why = jhash_side_objection(view.v4[side])) return why;
    if (const char *why = jhash_side_objection(view.v6[side])) return why;
  }
  if (view.deny_filter.judges()) return "a stack of denied hosts that judges";
  if (!view.deny_filter.empty() && view.deny_filter.bloom(0) == nullptr)
    return "a stack of denied hosts whose layers are not all Bloom filters";
  return nullptr;
}

} // namespace detail

// What the image holds and its family does not serve, or null.
[[nodiscard]] inline const char *family_objection(const ImageView &view) noexcept {
  if (!view.allow_filter.empty() && view.allow_filter.family() != view.family)
    return "a filter of the allow side of another family";
  for (unsigned i = 0; view.deny_filter.bloom(i) != nullptr; ++i)
    if (view.deny_filter.bloom(i)->shape().family != view.family) return "a Bloom layer of another family";
  return view.family == HashFamily::jhash ? detail::jhash_objection(view) : nullptr;
}

} // namespace weir::image
