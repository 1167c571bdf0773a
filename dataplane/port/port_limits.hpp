// What a device can do, held against what its port asks for. Errors name the port, the device, the value and the limit.
#pragma once

#include "weir/base/result.hpp"
#include "weir/config/kernel_interface.hpp"
#include "weir/config/port.hpp"

#include <cstdint>
#include <optional>
#include <string>

struct rte_eth_dev_info;

namespace weir::dataplane {

[[nodiscard]] std::string driver_of(const rte_eth_dev_info &info); // empty: it has no name

// By the driver's word. Drivers that name the longest frame alone count the Ethernet header and the checksum in it.
[[nodiscard]] unsigned mtu_max_of(const rte_eth_dev_info &info);

// The largest MTU of frames that net_af_packet's ring, or a page of net_af_xdp, has room for.
[[nodiscard]] unsigned mtu_max_of(const config::KernelInterface &interface);

// A port that says nothing of its MTU asks for nothing.
[[nodiscard]] Status check_mtu(const config::Port &port, const rte_eth_dev_info &info);
[[nodiscard]] Status check_mtu(const config::Port &port, const config::KernelInterface &interface);

// Those of the port as they are written, within the device's limits.
[[nodiscard]] Status check_descriptors(const config::Port &port, const rte_eth_dev_info &info);

// Of one segment, with DPDK's headroom: a frame of the longest MTU fits, and so does a frame of the rings of
// net_af_packet, whose driver asks for that. Never less than DPDK's default; cards take their buffers in steps of 1024.
[[nodiscard]] std::uint16_t data_room_for(unsigned mtu_longest, unsigned ring_bytes_longest);

} // namespace weir::dataplane
