// Prefixes that nothing may deny, as the ranges of an image (image/deny_filter_view.hpp, image/offenders.hpp).
#pragma once

#include "weir/image/layout.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::build::detail {

[[nodiscard]] inline Address last_of(const Prefix &p) noexcept {
  Address last = p.address;
  for (unsigned bit = p.length; bit < address_bits(p.family()); ++bit)
    last.bytes[bit / 8] = static_cast<std::uint8_t>(last.bytes[bit / 8] | 0x80u >> bit % 8);
  return last;
}

struct SparedRanges {
  std::vector<image::SparedV4> v4;
  std::vector<image::SparedV6> v6;
};
// Prefixes are apart or within one another: of those the widest stays.
[[nodiscard]] inline SparedRanges spared_ranges(std::span<const Prefix> spared) {
  std::vector<Prefix> sorted(spared.begin(), spared.end());
  std::ranges::sort(sorted);
  SparedRanges out;
  for (const Prefix &p : sorted) {
    const Address last = last_of(p);
    if (p.family() == Family::ipv4) {
      if (out.v4.empty() || p.address.host() > out.v4.back().last)
        out.v4.push_back({p.address.host(), last.host()});
    } else if (out.v6.empty() || p.address.bytes > out.v6.back().last) {
      out.v6.push_back({p.address.bytes, last.bytes});
    }
  }
  return out;
}

} // namespace weir::build::detail
