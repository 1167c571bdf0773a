#include "weir/config/kernel_interface.hpp"

#include "weir/config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::config {
namespace {

constexpr unsigned ring_bytes_default = 2048; // the driver's own
constexpr unsigned frames_a_block = 4;
constexpr unsigned kernel_headers = 66, ethernet_and_tag = 18;

std::string_view device_of(std::string_view vdev) { return vdev.substr(0, vdev.find(',')); }

// Of "net_af_packet0,iface=eth0,framesz=4096" the value of framesz; nothing when it does not stand there.
std::optional<std::string_view> argument(std::string_view vdev, std::string_view key) {
  while (vdev.find(',') != std::string_view::npos) {
    vdev.remove_prefix(vdev.find(',') + 1);
    const std::string_view one = device_of(vdev);
    if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == '=')
      return one.substr(key.size() + 1);
  }
  return std::nullopt;
}

std::string_view driver_of(std::string_view vdev) {
  for (const std::string_view driver : {"net_af_packet", "net_af_xdp"})
    if (vdev.starts_with(driver) || vdev.starts_with(fmt::format("eth{}", driver.substr(3)))) return driver;
  return {};
}

} // namespace

unsigned mtu_in_ring(unsigned ring_bytes) {
  return ring_bytes - std::min(ring_bytes, kernel_headers + ethernet_and_tag);
}

unsigned ring_bytes_for(unsigned mtu) {
  constexpr unsigned step = 1024;
  return (mtu + kernel_headers + ethernet_and_tag + step - 1) / step * step;
}

std::optional<KernelInterface> kernel_interface_of(const Eal &eal, const Port &port) {
  const auto vdev = std::ranges::find(eal.vdevs, std::string_view(port.device), device_of);
  if (vdev == eal.vdevs.end()) return std::nullopt;
  const std::string_view driver = driver_of(*vdev);
  const auto name = argument(*vdev, "iface");
  if (driver.empty() || !name) return std::nullopt;
  KernelInterface found{std::string(*name), std::string(driver), 0};
  if (driver != "net_af_packet") return found;
  const auto written = argument(*vdev, "framesz");
  const auto bytes = written ? parse_number(*written) : std::optional<std::uint64_t>(ring_bytes_default);
  found.ring_bytes = static_cast<unsigned>(std::min<std::uint64_t>(bytes.value_or(0), 1u << 20));
  if (!written && !argument(*vdev, "blocksz") && mtu_of(port) > mtu_in_ring(found.ring_bytes))
    found.ring_bytes = ring_bytes_for(mtu_of(port));
  return found;
}

std::vector<std::string> vdevs_for_mtu(const Eal &eal, const std::vector<Port> &ports) {
  std::vector<std::string> all = eal.vdevs;
  for (std::string &vdev : all) {
    const auto port = std::ranges::find(ports, device_of(vdev), &Port::device);
    if (port == ports.end() || driver_of(vdev) != "net_af_packet") continue;
    if (argument(vdev, "framesz") || argument(vdev, "blocksz")) continue;
    if (mtu_of(*port) <= mtu_in_ring(ring_bytes_default)) continue;
    const unsigned frame = ring_bytes_for(mtu_of(*port));
    vdev += fmt::format(",framesz={},blocksz={}", frame, frame * frames_a_block);
  }
  return all;
}

} // namespace weir::config
