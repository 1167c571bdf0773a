// How single values of weir.yaml are written: durations, shares, sizes, names. Also used for the same
// values on a command line.
#pragma once

#include "weir/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::config {

// "60s", "10m", "1h", "7d", or several in falling order: "1h30m". Never zero.
[[nodiscard]] Result<std::chrono::seconds> parse_duration(std::string_view text);
[[nodiscard]] std::string to_string(std::chrono::seconds duration); // the same way: "1h30m"

// "30%" or "0.3"; from 0 to 1.
[[nodiscard]] Result<double> parse_share(std::string_view text);

// The length of a prefix: "/8" or "8", at most `bits`.
[[nodiscard]] Result<unsigned> parse_length(std::string_view text, unsigned bits);

// How many prefixes of a family of `bits` bits may lie around one address, or how many lengths they may have:
// 1 to `bits`.
[[nodiscard]] Result<unsigned> parse_count(std::string_view text, unsigned bits);

// How much of a family of `bits` bits may be covered: "25%", "0.25", or "/2", which is as much as one prefix
// of that length covers. A share of all its addresses.
[[nodiscard]] Result<double> parse_covered(std::string_view text, unsigned bits);

// "64MiB", "512 KiB", "1GiB", "4096"; powers of 1024, never zero.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);

// A whole number without sign or leading zeros.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

// Why `name` cannot name a list or port, or nothing: 1 to `bytes_max` letters, digits, '_', '-', '.',
// the first a letter or digit.
[[nodiscard]] std::optional<std::string> name_fault(std::string_view name, std::size_t bytes_max);

// The known word that takes the fewest edits (insert, delete, replace, swap neighbours) to reach.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// "; did you mean \"X\"?" when a known word is near enough to have been meant, else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

// Bytes of unknown origin as they may stand in a message: control characters and what is not UTF-8
// become \xNN; beyond `bytes_max` only the size is told.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes_max = std::string_view::npos);

// The same for text of several lines, whose ends stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// A value in a message: printable and short.
[[nodiscard]] inline std::string shown(std::string_view value) { return printable(value, 60); }

// The bytes of the UTF-8 sequence at the front of `text` (not empty); 0 when there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// The bytes of the character at the front of `text` when it steers what shows it instead of being seen:
// C0, DEL, C1, line and paragraph separators, marks that turn the direction of writing. Else 0.
[[nodiscard]] std::size_t control_length(std::string_view text) noexcept;

// The text with each byte that is not UTF-8 as \xNN; all else stays.
[[nodiscard]] std::string utf8_of(std::string_view text);

} // namespace weir::config
