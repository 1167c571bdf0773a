// How the file of a list is written, and what to do with a line that is no entry.
#pragma once

#include <cstdint>

namespace weir::config {

enum class OnError : std::uint8_t { refuse, skip };

enum class Format : std::uint8_t {
  automatic,     // from the content
  plain,         // firehol .ipset/.netset too: # comments, one address or prefix a line
  spamhaus_text, // 1.10.16.0/20 ; SBL256894
  spamhaus_json, // {"cidr":"1.10.16.0/20","sblid":"SBL256894"} a line, one metadata line
  ipset_save,    // create NAME hash:net ..., add NAME 1.2.3.0/24 timeout 600 comment "x"
};

} // namespace weir::config
