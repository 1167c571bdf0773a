#include "weir/image/delta.hpp"

#include "weir/image/lists.hpp"

#include <fmt/format.h>

namespace weir::image {

Status check(const Delta &delta) {
  const bool known = (delta.op == DeltaOp::set || delta.op == DeltaOp::unset) &&
                     (delta.side == Side::deny || delta.side == Side::allow) &&
                     (delta.family == Family::ipv4 || delta.family == Family::ipv6);
  if (!known) return fail(Errc::parse, "a delta has an unknown operation, side or family");
  if (delta.length > address_bits(delta.family))
    return fail(Errc::parse, fmt::format("a delta has prefix length {}", delta.length));
  const Address address{delta.family, delta.address};
  const bool spare_bytes_zero =
      delta.family == Family::ipv6 || Address::from_wire(address.wire()).bytes == address.bytes;
  if (!spare_bytes_zero || masked(address, delta.length) != address)
    return fail(Errc::parse, "a delta has address bits beyond its prefix length");
  if (delta.op == DeltaOp::set && delta.list.value() >= lists_max)
    return fail(Errc::parse, fmt::format("a delta has list number {}, which no list can have", delta.list));
  return {};
}

} // namespace weir::image
