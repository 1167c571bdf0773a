// Why would this very frame pass or drop? The verdict order of a worker, one packet at a time:
//
//   malformed, not IP, too many tags   policy
//   link local                         policy
//   what is inside (policy.tunnels)    judged in its place, or beside it; policy where it is no packet
//   each judged address                allow, deny, default: one denied drops the packet, one allowed does not save another
#pragma once

#include "weir/key/policy.hpp"
#include "weir/lookup/explain.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace weir::lookup {

struct PacketExplanation : Explanation {
  std::optional<Address> address; // that decided, or was judged first; none: no list had a say
};

// `frame`: an Ethernet frame, or as much of it as is at hand. `side`: of the port that it enters. `ask`: what an image or rules
// say of one address.
[[nodiscard]] PacketExplanation explain_packet(const Policy &policy, std::span<const std::uint8_t> frame,
                                               PortSide side,
                                               const std::function<Explanation(const Address &)> &ask);

} // namespace weir::lookup
