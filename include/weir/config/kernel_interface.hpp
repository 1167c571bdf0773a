// Ports that are interfaces of the kernel, by net_af_packet or net_af_xdp: weir shares them with it, so that their MTU
// and their link are the kernel's, and the kernel can carry their packets while weir does not run.
#pragma once

#include "weir/config/config.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weir::config {

struct KernelInterface {
  std::string name;   // as `ip link` has it
  std::string driver; // net_af_packet or net_af_xdp
  unsigned ring_bytes =
      0; // of net_af_packet: what one frame of its ring takes, headers of the kernel included
};

// Nothing: the device is none, or eal.vdevs does not have it.
[[nodiscard]] std::optional<KernelInterface> kernel_interface_of(const Eal &eal, const Port &port);

// What eal.vdevs says, with rings of net_af_packet that hold frames of the ports' MTU. Sizes that are written there
// stay as they are.
[[nodiscard]] std::vector<std::string> vdevs_for_mtu(const Eal &eal, const std::vector<Port> &ports);

// The largest MTU whose frames fit: with the kernel's headers and one VLAN tag, since the kernel keeps the other beside
// the frame. Longer frames would arrive cut.
[[nodiscard]] unsigned mtu_in_ring(unsigned ring_bytes);
// What a frame of the ring needs for an MTU; a multiple of 1024, so that four are whole pages.
[[nodiscard]] unsigned ring_bytes_for(unsigned mtu);

} // namespace weir::config
