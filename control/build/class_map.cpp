#include "control/build/class_map.hpp"

#include "weir/build/class_map_builder.hpp"

namespace weir::build {

Result<std::vector<std::byte>> make_class_map(const BuildInput &input) {
  return build_class_map(input.deny, input.seed);
}

} // namespace weir::build
