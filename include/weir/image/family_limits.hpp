// Numbers that programs of hash family jhash are unrolled for, where images have a choice. Builders and
// planners keep to them; p4/export/program_fit.cpp holds them against the program that there is.
#pragma once

namespace weir::image {

inline constexpr unsigned jhash_stack_layers_max = 7;  // of the stack of denied hosts
inline constexpr unsigned jhash_stack_hashes_max = 16; // of one of its layers

} // namespace weir::image
