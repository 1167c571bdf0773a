// The planned stacked filter of the deny side as a section of the image to come. Apart from the rest of
// building, since its builder is heavy.
#pragma once

#include "control/plan/deny_filter.hpp"
#include "weir/build/input.hpp"

#include <cstddef>
#include <vector>

namespace weir::build {

struct StackSection {
  image::DenyFilterRole role = image::DenyFilterRole::front;
  std::vector<std::byte> bytes;
  plan::DenyFilterPlan::Built built;
};

// For the entries and the seed of `input`. Errors: those of build_deny_filter().
[[nodiscard]] Result<StackSection> make_deny_filter(const BuildInput &input,
                                                    const plan::DenyFilterPlan &plan);

// Deny entries without those that lie inside never_deny: they have no effect, and a judge must not hold them.
struct SparedSide {
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
};
[[nodiscard]] SparedSide without_spared(const SideInput &deny, std::span<const Prefix> spared);

} // namespace weir::build
