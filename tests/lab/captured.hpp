// Elements of offenders (image/offenders.hpp: a source with the traits of a packet's headers) from a capture whose sources have labels.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/key/address.hpp"
#include "weir/key/traits.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct CapturedElement {
  Address address;
  Traits traits;
  KeyHash key;
  bool told = false;
};

struct CaptureCounts {
  std::uint64_t packets = 0, not_judged = 0, unlabelled = 0; // not_judged: no list would decide about them
  std::uint64_t sources = 0, told = 0, others = 0;           // sources with a label; elements
};

struct CapturedElements {
  std::vector<CapturedElement> elements; // each once, in the order of the first packet
  CaptureCounts counts;
};

// A classic capture of Ethernet frames, and lines of an address and a label, 1 for misbehaving sources and 0 for others. Errors: io;
// parse, with file, packet or line, and value.
[[nodiscard]] Result<CapturedElements> read_captured(const std::string &capture, const std::string &labels,
                                                     std::uint64_t seed);

} // namespace weir::lab
