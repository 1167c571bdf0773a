// Small stacks of denied hosts for tests that need no planner.
#pragma once

#include "tests/support/image_memory.hpp"
#include "weir/build/deny_filter_builder.hpp"

#include <string>
#include <vector>

namespace weir::test {

struct StackKind {
  filter::FilterKind base = filter::FilterKind::split_block_bloom;
  bool fuse_below = false;
  unsigned depth = 3;
  double bits =
      6; // a key of each layer; a fuse layer has half of them in its fingerprints, a chained filter's first stage all
};

[[nodiscard]] inline std::string name_of(const StackKind &kind) {
  if (kind.base == filter::FilterKind::chained_and) return "chained_and";
  if (kind.base == filter::FilterKind::chained_and_shared) return "chained_and_shared";
  const bool fuse = kind.base == filter::FilterKind::binary_fuse;
  return std::string(fuse                                     ? "fuse"
                     : kind.base == filter::FilterKind::bloom ? "bloom"
                                                              : "split_block") +
         (kind.fuse_below ? "_fuse" : "") + std::to_string(kind.depth);
}

[[nodiscard]] inline build::DenyFilterSizes plan_of(const StackKind &kind, image::DenyFilterRole role) {
  build::DenyFilterSizes plan;
  plan.role = role;
  plan.base = kind.base;
  if (filter::is_chained(kind.base)) {
    plan.layers = {{.digits = static_cast<unsigned>(kind.bits)}, {.digits = 1}};
    return plan;
  }
  plan.fuse_below = kind.fuse_below;
  for (unsigned i = 0; i < kind.depth; ++i) {
    const bool fuse = kind.base == filter::FilterKind::binary_fuse || (kind.fuse_below && i % 2 == 1);
    plan.layers.push_back(fuse ? build::LayerSize{.digits = static_cast<unsigned>(kind.bits / 2)}
                               : build::LayerSize{.keys = 1, .bits = kind.bits});
  }
  return plan;
}

// `in` with the stack of its deny side; aborts the program on a failure, which no test expects.
[[nodiscard]] inline ImageMemory build_with_stack(build::BuildInput in, const build::DenyFilterSizes &plan) {
  const build::DenyFilter stack = build::build_deny_filter(in.deny, plan, in.seed).value();
  in.deny_filter = stack.input(plan.known);
  return ImageMemory::build(in);
}

[[nodiscard]] inline KeyHash host_hash(const image::ImageView &view, const Address &a) {
  return view.hash(Prefix{a, static_cast<std::uint8_t>(address_bits(a.family))});
}

} // namespace weir::test
