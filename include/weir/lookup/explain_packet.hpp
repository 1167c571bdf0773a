// Why would this very frame pass or drop? The verdict order of a worker, one packet at a time:
//
//   malformed, not IP, too many tags   policy
//   link local                         policy
//   what is inside (policy.tunnels)    judged in its place, or beside it; policy where it is no packet
//   packet rules                       of the outermost headers: exact flows, then patterns one after the other
//   each judged address                allow, deny, default: one denied drops the packet, one allowed does not save another
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/flow_table.hpp"
#include "weir/image/packet_rules.hpp"
#include "weir/key/policy.hpp"
#include "weir/lookup/explain.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::lookup {

struct PacketExplanation : Explanation {
  std::optional<Address> address; // that decided, or was judged first; none: no list had a say
};

inline constexpr std::size_t explained_bytes_max =
    2048; // of a frame: all headers that are looked at stand within

// The side of the port that a frame enters, among ports that have `name` and `side`. not_found for a name that none has;
// usage for no name under Match::remote, where the side says which address is judged.
template <class Ports>
[[nodiscard]] Result<PortSide> side_entered(const Ports &ports, const std::string &name, Match match) {
  std::string names;
  for (const auto &port : ports) {
    if (port.name == name) return port.side;
    names += (names.empty() ? "" : ", ") + port.name;
  }
  if (!name.empty()) return fail(Errc::not_found, "no port is named " + name + "; there are " + names);
  if (match != Match::remote || names.empty()) return PortSide::none;
  return fail(Errc::usage,
              "under `match: remote` the port says which address is judged: name one of " + names);
}

// The packet rules that are asked; null: there are none.
struct RulesAsked {
  const image::PacketRulesView *rules = nullptr;
  const image::FlowTableView *flows = nullptr;
  std::string_view port = {}; // that the frame enters; empty: one that no rule asks for
};

// What is told of an address, about which no packet rule is asked, where there are some.
[[nodiscard]] Explanation::Step step_before_lists(std::size_t rules);

// `frame`: an Ethernet frame, or as much of it as is at hand. `side`: of the port that it enters. `ask`: what an image or rules
// say of one address.
[[nodiscard]] PacketExplanation explain_packet(const Policy &policy, std::span<const std::uint8_t> frame,
                                               PortSide side,
                                               const std::function<Explanation(const Address &)> &ask,
                                               const RulesAsked &rules = {});

} // namespace weir::lookup
