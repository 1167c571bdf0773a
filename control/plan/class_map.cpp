#include "control/plan/class_map.hpp"

#include "weir/build/class_map_builder.hpp"

namespace weir::plan {

std::uint64_t class_map_bytes(const build::SideInput &deny) { return build::class_map_bytes(deny); }

std::uint64_t class_map_scratch_bytes(const build::SideInput &deny) {
  return build::class_map_scratch_bytes(deny);
}

} // namespace weir::plan
