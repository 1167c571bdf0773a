#include "dataplane/port/port_limits.hpp"

#include <fmt/format.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace weir::dataplane {
namespace {

constexpr unsigned ethernet_bytes = 14, checksum_bytes = 4, tag_bytes = 4;
constexpr unsigned frame_beyond_mtu = ethernet_bytes + 2 * tag_bytes + checksum_bytes;

Status check_ring(const config::Port &port, const char *key, std::optional<unsigned> wanted,
                  const rte_eth_desc_lim &limits, const rte_eth_dev_info &info) {
  if (!wanted) return {};
  const unsigned step = std::max<unsigned>(limits.nb_align, 1);
  const unsigned most = limits.nb_max == 0 ? config::descriptors_max : limits.nb_max;
  if (*wanted >= limits.nb_min && *wanted <= most && *wanted % step == 0) return {};
  return fail(Errc::config, fmt::format("port {}: {}: {}: {} ({}) takes {} to {}{}", port.name, key, *wanted,
                                        port.device, driver_of(info), std::max<unsigned>(limits.nb_min, 1),
                                        most, step > 1 ? fmt::format(", in steps of {}", step) : ""));
}

} // namespace

std::string driver_of(const rte_eth_dev_info &info) {
  return info.driver_name != nullptr ? info.driver_name : "";
}

unsigned mtu_max_of(const rte_eth_dev_info &info) {
  const unsigned by_frame =
      info.max_rx_pktlen == 0
          ? config::mtu_max
          : info.max_rx_pktlen - std::min(info.max_rx_pktlen, ethernet_bytes + checksum_bytes);
  // Drivers that do not say leave 65535 there.
  const unsigned by_word = info.max_mtu == 0 ? config::mtu_max : info.max_mtu;
  if (by_word != UINT16_MAX) return std::min<unsigned>(by_word, config::mtu_max);
  return std::min(by_frame, config::mtu_max);
}

unsigned mtu_max_of(const config::KernelInterface &interface) {
  if (interface.ring_bytes != 0) return config::mtu_in_ring(interface.ring_bytes);
  constexpr unsigned within_a_segment = RTE_MBUF_DEFAULT_DATAROOM - frame_beyond_mtu;
  return within_a_segment; // net_af_xdp: a segment with its head fits in a page
}

Status check_mtu(const config::Port &port, const rte_eth_dev_info &info) {
  const unsigned most = mtu_max_of(info);
  if (!port.mtu || *port.mtu <= most) return {};
  return fail(Errc::config, fmt::format("port {}: mtu: {}: {} ({}) takes at most {}", port.name, *port.mtu,
                                        port.device, driver_of(info), most));
}

Status check_mtu(const config::Port &port, const config::KernelInterface &interface) {
  const unsigned most = mtu_max_of(interface);
  if (!port.mtu || *port.mtu <= most) return {};
  const std::string remedy =
      interface.ring_bytes == 0
          ? std::string("; net_af_packet takes longer ones")
          : fmt::format(" with its framesz={}; write framesz={},blocksz={} in eal.vdevs, or leave both out",
                        interface.ring_bytes, config::ring_bytes_for(*port.mtu),
                        4 * config::ring_bytes_for(*port.mtu));
  return fail(Errc::config, fmt::format("port {}: mtu: {}: {} ({}) takes at most {}{}", port.name, *port.mtu,
                                        port.device, interface.driver, most, remedy));
}

Status check_descriptors(const config::Port &port, const rte_eth_dev_info &info) {
  TRY(check_ring(port, "rx_descriptors", port.rx_descriptors, info.rx_desc_lim, info));
  return check_ring(port, "tx_descriptors", port.tx_descriptors, info.tx_desc_lim, info);
}

std::uint16_t data_room_for(unsigned mtu_longest, unsigned ring_bytes_longest) {
  constexpr unsigned step = 1024;
  const unsigned frame = std::max(mtu_longest + frame_beyond_mtu, ring_bytes_longest);
  const unsigned room =
      std::max<unsigned>((frame + step - 1) / step * step, RTE_MBUF_DEFAULT_DATAROOM) + RTE_PKTMBUF_HEADROOM;
  return static_cast<std::uint16_t>(std::min<unsigned>(room, UINT16_MAX));
}

} // namespace weir::dataplane
