// Exact flows into section flow_table (image/flow_table.hpp).
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/flow_table.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

// Each with the rule that it leads to in its word. No flow stands there twice.
struct FlowsInput {
  std::span<const image::FlowV4> v4;
  std::span<const image::FlowV6> v6;
  std::uint64_t seed = 0;
};

// The same flows and seed give the same bytes. Errors: usage for more flows than there may be, or for one that stands twice.
[[nodiscard]] Result<std::vector<std::byte>> build_flow_table(const FlowsInput &input);

} // namespace weir::build
