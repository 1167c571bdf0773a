// What a configuration asks of the machine for its network cards.
#pragma once

#include "weir/config/config.hpp"

#include <cstdint>
#include <string_view>

namespace weir::config {

// EAL's memory without hugepages, unless eal.memory_mib says otherwise. It needs that many bytes of hugepages
// to take those.
inline constexpr unsigned ordinary_memory_mib = 256;
inline constexpr std::uint64_t hugepages_needed_bytes = 128u << 20;

// A PCI address; the name of a virtual device has no colon.
[[nodiscard]] inline bool is_card(std::string_view device) {
  return device.find(':') != std::string_view::npos;
}

// Cards read and write packets where they lie, so that memory has to be locked: all of EAL's where its size is
// set or its pages are ordinary, else that for the packets and some more.
[[nodiscard]] std::uint64_t locked_bytes(const Config &config, bool on_hugepages);

} // namespace weir::config
