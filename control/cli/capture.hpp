// A look at a capture file before a replay: is it one, is it Ethernet, how many packets are whole.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace weir::cli {

struct CaptureFacts {
  std::uint64_t packets = 0; // whole ones; only when counted
  bool cut = false;          // ends in the middle of a packet; only when counted
};

// Reads the whole file when `count` is set, else its header alone. A file that is missing, no
// capture, or not of link type Ethernet is an error; one that ends in the middle of a packet is not.
[[nodiscard]] Result<CaptureFacts> inspect_capture(const std::filesystem::path &file, bool count);

} // namespace weir::cli
