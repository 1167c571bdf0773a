// Can p4/acl.p4 do what an image and its setting ask for?
//
// attach() has found already that an image of hash family jhash has power-of-two sizes and no other filters
// than the program's (image/family_check.hpp). What is left changes while an image lives, or is a number that
// the program is unrolled for (namespace limits of register_map.hpp).
#pragma once

#include "p4/export/contents.hpp"
#include "weir/base/result.hpp"
#include "weir/image/view.hpp"

namespace weir::p4 {

// Is there anything to be asked of this side? Otherwise its tables are not exported.
template <class Line> [[nodiscard]] bool in_use(const image::ImageView &view, Side side) noexcept {
  if constexpr (Line::family == Family::ipv4)
    return view.lengths_v4[side].lengths() != 0;
  else
    return !view.lengths_v6[side].none();
}

// Errors: refused, with everything that the program cannot do and what to do about it.
[[nodiscard]] Status check_fit(const image::ImageView &view, const Setting &setting);

} // namespace weir::p4
