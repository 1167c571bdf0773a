// From plain data to the calls that configure a SWX pipeline, in the order that DPDK asks for.
#pragma once

#include "p4/swx/pipeline.hpp"

namespace weir::p4::swx {

// Everything but ports and build. `sizes` gives the sizes of the register arrays.
[[nodiscard]] Status configure(rte_swx_pipeline *pipeline, const Spec &spec,
                               const std::map<std::string, std::uint32_t, std::less<>> &sizes);

// The lines that DPDK is given for a block: with labels, drop and tx guarded as pipeline.hpp says.
[[nodiscard]] std::vector<std::string> lines_for_dpdk(const Block &block);

} // namespace weir::p4::swx
