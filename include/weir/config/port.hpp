// `ports:` of weir.yaml: where packets come from and go to. Read when weir-dataplane starts.
#pragma once

#include "weir/key/verdict.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace weir::config {

// What a card does with pause frames: sends them when its queues are full, obeys those of the other end.
enum class FlowControl : std::uint8_t { off, obey, send, both };
// What a port's link does when that of its peer is lost.
enum class LinkLoss : std::uint8_t { stay, follow };
// Who carries packets between two kernel interfaces while weir-dataplane does not run: nobody, or the kernel.
enum class OnExit : std::uint8_t { close, bypass };

struct Port {
  std::string name;
  std::string device; // PCI address or virtual device name as EAL knows it
  unsigned rx_queues = 1;
  PortSide side = PortSide::none;
  std::string peer; // name of the port that receives what this one passes
  // Of what a frame carries, in bytes. None: frames of 1500 have room, and the device's setting stays.
  std::optional<unsigned> mtu = {};
  std::optional<unsigned> rx_descriptors = {},
                          tx_descriptors = {};  // of each queue; none: descriptors_default
  std::optional<FlowControl> flow_control = {}; // none: off where the device knows it
  std::optional<bool> promiscuous = {};         // none: yes where the device knows it
  LinkLoss link = LinkLoss::stay;
  OnExit on_exit = OnExit::close;
};

inline constexpr unsigned mtu_default = 1500, mtu_min = 68, mtu_max = 64'000;
inline constexpr unsigned descriptors_default = 1024, descriptors_min = 8, descriptors_max = 32'768;

[[nodiscard]] inline unsigned mtu_of(const Port &port) { return port.mtu.value_or(mtu_default); }

} // namespace weir::config
