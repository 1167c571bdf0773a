#include "dataplane/port/port.hpp"

#include "dataplane/count/counters.hpp"
#include "dataplane/port/kernel_link.hpp"
#include "dataplane/port/memory.hpp"
#include "dataplane/port/port_limits.hpp"
#include "dataplane/port/port_links.hpp"
#include "weir/base/say.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <algorithm>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr unsigned pool_cache = 256;

std::unexpected<Error> port_error(const std::string &name, const char *what, int code) {
  return fail(Errc::io, fmt::format("port {}: {}: {}", name, what, rte_strerror(-code)));
}

Result<std::uint16_t> find_device(const config::Port &port) {
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(port.device.c_str(), &id) == 0) return id;
  std::vector<std::string> known;
  RTE_ETH_FOREACH_DEV(id) {
    char name[RTE_ETH_NAME_MAX_LEN] = {};
    if (rte_eth_dev_get_name_by_port(id, name) == 0) known.emplace_back(name);
  }
  return fail(Errc::config, fmt::format("port {}: EAL has no device {}; it has: {}", port.name, port.device,
                                        known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

// Each descriptor of each queue may hold a packet; bursts in flight and caches come on top.
unsigned mbufs_needed(const std::vector<Port> &ports, const std::vector<config::Port> &wanted,
                      unsigned workers) {
  unsigned count = workers * (4 * 64 + pool_cache * 2);
  for (std::size_t i = 0; i < ports.size(); ++i)
    count += ports[i].rx_queues * wanted[i].rx_descriptors.value_or(config::descriptors_default) +
             workers * wanted[i].tx_descriptors.value_or(config::descriptors_default);
  return std::max(count, 8191u);
}

std::uint16_t data_room_of(const std::vector<Port> &ports, const std::vector<config::Port> &wanted) {
  unsigned mtu = 0, ring = 0;
  for (const config::Port &port : wanted) mtu = std::max(mtu, config::mtu_of(port));
  for (const Port &port : ports)
    if (port.kernel) ring = std::max(ring, port.kernel->ring_bytes);
  return data_room_for(mtu, ring);
}

// Those that may cut a packet into several segments, although one would hold it.
bool cuts_packets(std::uint16_t port_id) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(port_id, &info) != 0) return false;
  const std::string driver = driver_of(info);
  return driver.starts_with("net_virtio") || driver.starts_with("net_tap") || driver == "net_vhost";
}

// The kernel lets longer frames through to net_af_packet, which cuts them.
void warn_of_longer_frames(const Port &port, const config::Port &wanted, std::vector<std::string> &warnings) {
  if (!port.kernel || port.kernel->ring_bytes == 0 || wanted.mtu) return;
  const auto link = look_at_link(port.kernel->name);
  const unsigned most = mtu_max_of(*port.kernel);
  if (!link || link->mtu <= most) return;
  warnings.push_back(fmt::format("port {}: interface {} has an MTU of {}, and this port takes frames of {}: "
                                 "longer ones arrive cut. Write mtu: {} for the port and its peer",
                                 port.name, port.kernel->name, link->mtu, most,
                                 std::min(link->mtu, config::mtu_max)));
  say_sentence("weir-dataplane", warnings.back());
}

// What came since EAL opened the device: the kernel carried it, and it would leave a second time.
void discard_received(const Port &port) {
  constexpr unsigned at_once = 64, bursts_max = config::descriptors_max / at_once;
  rte_mbuf *packets[at_once];
  for (std::uint16_t queue = 0; queue < port.rx_queues; ++queue)
    for (unsigned i = 0; i < bursts_max; ++i) {
      const std::uint16_t count = rte_eth_rx_burst(port.port_id, queue, packets, at_once);
      if (count == 0) break;
      rte_pktmbuf_free_bulk(packets, count);
    }
}

Result<std::uint16_t> rx_queues_of(const config::Port &port, std::uint16_t id, unsigned workers) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0)
    return port_error(port.name, "cannot be examined", error);
  const std::string driver = driver_of(info);
  const auto queues = rx_queues_for(port, driver, static_cast<std::uint16_t>(workers), info.max_rx_queues);
  if (queues && *queues != port.rx_queues)
    say("weir-dataplane",
        "port {}: {} receive queues instead of {}: {} delivers to as many as it is "
        "sent by, and each of {} worker(s) sends by its own",
        port.name, *queues, port.rx_queues, driver, workers);
  return queues;
}

} // namespace

Result<std::uint16_t> rx_queues_for(const config::Port &port, const std::string &driver, std::uint16_t tx,
                                    std::uint16_t device_rx_max) {
  const auto asked = static_cast<std::uint16_t>(port.rx_queues);
  if (!driver.starts_with("net_virtio") || asked >= tx) return asked;
  if (tx <= device_rx_max) return tx;
  return fail(Errc::config,
              fmt::format("port {}: {} workers send by a queue each, and {} would deliver to as many receive "
                          "queues, of which the device has {}: use fewer eal.lcores, or give the card more "
                          "queue pairs",
                          port.name, tx, driver, device_rx_max));
}

Result<Ports> Ports::open(const std::vector<config::Port> &wanted, const config::Eal &eal, unsigned workers,
                          Bypass &bypass) {
  if (wanted.empty())
    return fail(Errc::config, "no ports: name them in weir.yaml, or use --replay for a capture file");
  if (wanted.size() > ports_max)
    return fail(Errc::config,
                fmt::format("{} ports are configured, {} are possible", wanted.size(), ports_max));
  Ports ports;
  for (const config::Port &port : wanted) {
    const auto id = TRY(find_device(port));
    const auto peer = std::find_if(wanted.begin(), wanted.end(),
                                   [&](const config::Port &other) { return other.name == port.peer; });
    if (peer == wanted.end() && !port.peer.empty())
      return fail(Errc::config, fmt::format("port {}: its peer {} is not a port", port.name, port.peer));
    const auto own = static_cast<std::uint16_t>(ports.ports_.size());
    const auto other = peer == wanted.end() ? own : static_cast<std::uint16_t>(peer - wanted.begin());
    const auto queues = TRY(rx_queues_of(port, id, workers));
    ports.ports_.push_back({port.name, id, queues, port.side, other, config::kernel_interface_of(eal, port),
                            port.link == config::LinkLoss::follow});
  }

  const unsigned mbufs = mbufs_needed(ports.ports_, wanted, workers);
  const std::uint16_t room = data_room_of(ports.ports_, wanted);
  ports.pool_ = rte_pktmbuf_pool_create("weir_packets", mbufs, pool_cache, 0, room, node_of_workers());
  if (ports.pool_ == nullptr)
    return fail(Errc::no_memory,
                fmt::format("no memory for {} packets of {} bytes, {} MiB: {}; raise "
                            "eal.memory_mib",
                            mbufs, room, (std::uint64_t{mbufs} * room >> 20) + 1, rte_strerror(rte_errno)));
  TRY(bypass.take_away());
  const bool cut_packets =
      std::ranges::any_of(ports.ports_, [](const Port &port) { return cuts_packets(port.port_id); });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Port &port = ports.ports_[i];
    const PortSetup setup{port.rx_queues, static_cast<std::uint16_t>(workers),
                          ports.pool_,    wanted[i],
                          port.kernel,    cut_packets};
    if (auto good = start_port(port.port_id, port.name, setup); !good) return std::unexpected(good.error());
    if (port.link_follows) TRY(check_link_follows(port, wanted[i].device));
    warn_of_longer_frames(port, wanted[i], ports.warnings_);
  }
  if (bypass.is_wanted())
    for (const Port &port : ports.ports_) discard_received(port);
  return ports;
}

Ports::Ports(Ports &&other) noexcept
    : ports_(std::exchange(other.ports_, {})), owned_(other.owned_),
      pool_(std::exchange(other.pool_, nullptr)), warnings_(std::move(other.warnings_)) {}

Ports &Ports::operator=(Ports &&other) noexcept {
  std::swap(ports_, other.ports_);
  std::swap(owned_, other.owned_);
  std::swap(pool_, other.pool_);
  std::swap(warnings_, other.warnings_);
  return *this;
}

Ports::~Ports() {
  if (!owned_) return;
  for (const Port &port : ports_) {
    rte_eth_dev_stop(port.port_id);
    rte_eth_dev_close(port.port_id);
  }
  rte_mempool_free(pool_);
}

std::vector<std::vector<RxQueue>> Ports::deal(unsigned workers) const {
  std::vector<std::vector<RxQueue>> hands(workers);
  unsigned next = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    for (std::uint16_t queue = 0; queue < ports_[i].rx_queues; ++queue) {
      const unsigned worker = next++ % workers;
      const Port &port = ports_[i], &peer = ports_[port.peer];
      hands[worker].push_back({port.port_id, queue, static_cast<std::uint16_t>(i), port.side, peer.port_id,
                               static_cast<std::uint16_t>(worker), port.peer});
    }
  return hands;
}

} // namespace weir::dataplane
