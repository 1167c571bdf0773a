// Bytes as people write them: two hexadecimal digits each, with blanks, colons or dots between bytes as they like.
#pragma once

#include "weir/base/result.hpp"

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Errc::usage names the character, or says that a digit is missing.
[[nodiscard]] inline Result<std::vector<std::uint8_t>> bytes_of_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  unsigned digits = 0, value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool apart = c == ':' || c == '.' || std::isspace(c) != 0;
    if (apart && digits == 0) continue;
    if (std::isxdigit(c) == 0)
      return fail(Errc::usage, "character " + std::to_string(i + 1) +
                                   (apart ? " stands in the middle of a byte" : " is no hexadecimal digit"));
    value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    if (++digits < 2) continue;
    bytes.push_back(static_cast<std::uint8_t>(value));
    digits = value = 0;
  }
  if (digits != 0) return fail(Errc::usage, "the last byte has one hexadecimal digit; it needs two");
  if (bytes.empty()) return fail(Errc::usage, "there is no byte");
  return bytes;
}

[[nodiscard]] inline std::string hex_of(const std::uint8_t *bytes, std::size_t count) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

} // namespace weir
