// What people write beside an entry, as it is kept: valid UTF-8 of one line and at most
// comment_bytes_max bytes, that can be shown anywhere. Applied where comments come in (feeds,
// `weirctl list add`), and once more where an export writes them, for stores of earlier versions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::rules {

inline constexpr std::size_t comment_bytes_max = 255;

// Control characters, line ends among them, become blanks and bytes that are not UTF-8 question marks.
// Nothing is cut.
[[nodiscard]] std::string clean_comment(std::string_view comment);

// The same of a comment of any length, cut between two characters where it is too long.
[[nodiscard]] std::string short_comment(std::string_view comment);

} // namespace weir::rules
