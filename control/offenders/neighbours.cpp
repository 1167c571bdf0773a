#include "control/offenders/neighbours.hpp"

#include "weir/build/keys.hpp"
#include "weir/image/offenders.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir::offenders {

std::vector<std::byte> neighbours_of(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6) {
  std::vector<std::uint32_t> counts(image::offender_neighbours);
  const auto count = [&](const Address &address) { ++counts[image::offender_net(address)]; };
  for (const build::EntryV4 &entry : v4) count(build::detail::address_of(entry));
  for (const build::EntryV6 &entry : v6) count(build::detail::address_of(entry));
  std::vector<std::byte> out(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    out[i] = static_cast<std::byte>(std::min(255u, 16u * static_cast<unsigned>(std::bit_width(counts[i]))));
  return out;
}

} // namespace weir::offenders
