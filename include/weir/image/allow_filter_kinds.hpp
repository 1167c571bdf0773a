// The kinds of filter that may stand in front of the allow tables: those that one writer changes beside
// readers.
//
//   a new kind    a view and a writer in a file of their own, a row in allow_filter_kinds.cpp, parameters to
//                 build it of (build/allow_filter_params.hpp), and a line of the planner, if it is to be
//                 planned (control/plan/allow_filter_kinds.cpp)
#pragma once

#include "weir/base/hash.hpp"
#include "weir/filter/any.hpp"
#include "weir/image/dynamic_filter.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace weir::image {

// A kind: how it is asked, and how its section is opened by the one who writes.
struct AllowFilterOps : filter::FilterOps {
  std::string_view name;                           // in configurations, plans and reports
  bool learns = false;                             // negatives, while readers are at work
  HashFamily (*family)(const void *view) noexcept; // of the hashes that it takes
  Result<std::unique_ptr<DynamicFilter>> (*open)(MutableBytes section);
};

// The row of a kind. Views whose shapes name no hash family are of xxh3.
template <filter::Filter View, BesideReaders Writer>
[[nodiscard]] constexpr AllowFilterOps allow_filter_ops(std::string_view name) noexcept {
  AllowFilterOps row{filter::ops_of<View>(), name, LearnsLate<Writer>, nullptr, nullptr};
  row.family = [](const void *view) noexcept {
    if constexpr (requires(const View &v) { v.shape().family; })
      return static_cast<const View *>(view)->shape().family;
    else
      return HashFamily::xxh3;
  };
  row.open = [](MutableBytes section) -> Result<std::unique_ptr<DynamicFilter>> {
    auto writer = TRY(Writer::attach(section));
    return std::make_unique<DynamicFilterOf<Writer>>(std::move(writer));
  };
  return row;
}

// Those of weir itself.
[[nodiscard]] std::span<const AllowFilterOps> allow_filter_kinds() noexcept;

// Null: no kind is called so.
[[nodiscard]] const AllowFilterOps *allow_filter_named(std::string_view name) noexcept;

} // namespace weir::image
