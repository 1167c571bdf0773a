// How the file of a list is written, and what to do with a line that is no entry.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace weir::config {

enum class OnError : std::uint8_t { refuse, skip };

enum class Format : std::uint8_t {
  automatic,     // from the content
  plain,         // firehol .ipset/.netset too: # comments, one address or prefix a line
  spamhaus_text, // 1.10.16.0/20 ; SBL256894
  spamhaus_json, // {"cidr":"1.10.16.0/20","sblid":"SBL256894"} a line, one metadata line
  ipset_save,    // create NAME hash:net ..., add NAME 1.2.3.0/24 timeout 600 comment "x"
};

// A value as weir.yaml and answers write it.
template <class Enum> struct Word {
  std::string_view word;
  Enum value;
};
inline constexpr std::array formats{
    Word<Format>{"auto", Format::automatic},
    Word<Format>{"plain", Format::plain},
    Word<Format>{"spamhaus_text", Format::spamhaus_text},
    Word<Format>{"spamhaus_json", Format::spamhaus_json},
    Word<Format>{"ipset_save", Format::ipset_save},
};
[[nodiscard]] constexpr std::string_view name_of(Format format) noexcept {
  const auto *const found = std::ranges::find(formats, format, &Word<Format>::value);
  return found == formats.end() ? "unknown" : found->word;
}

} // namespace weir::config
