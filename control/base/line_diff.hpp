// What changed between two texts, by lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

inline constexpr std::size_t line_diff_cells_max = std::size_t{1}
                                                   << 24; // lines of one times lines of the other

// "-line" for each line that only `before` has and "+line" for each that only `after` has, in order; lines of
// blanks alone do not count. Of texts that differ in more than line_diff_cells_max every line between the first
// and the last difference is one of both.
[[nodiscard]] std::vector<std::string> line_diff(std::string_view before, std::string_view after);

} // namespace weir::control
