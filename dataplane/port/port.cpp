#include "dataplane/port/port.hpp"

#include "dataplane/count/counters.hpp"
#include "dataplane/port/memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <algorithm>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr std::uint16_t descriptors_wanted = 1024;
constexpr unsigned pool_cache = 256;

std::unexpected<Error> port_error(const std::string &name, const char *what, int code) {
  return fail(Errc::io, fmt::format("port {}: {}: {}", name, what, rte_strerror(-code)));
}

std::string driver_of(const rte_eth_dev_info &info) {
  return info.driver_name != nullptr ? info.driver_name : "";
}

// Queue counts beyond what the device has are the configuration's mistake.
Status check_queues(const std::string &name, const PortSetup &setup, const rte_eth_dev_info &info) {
  const std::uint16_t tx_max = tx_queues_max(driver_of(info), info.max_tx_queues, info.max_rx_pktlen);
  if (setup.rx_queues > info.max_rx_queues)
    return fail(Errc::config, fmt::format("port {}: rx_queues {} asked, the device has {}", name,
                                          setup.rx_queues, info.max_rx_queues));
  if (setup.tx_queues > tx_max)
    return fail(Errc::config, fmt::format("port {}: {} workers need a tx queue each, the device has {}; use "
                                          "fewer eal.lcores or more queue pairs",
                                          name, setup.tx_queues, tx_max));
  return {};
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
unsigned mbufs_needed(const std::vector<Port> &ports, unsigned workers) {
  unsigned count = workers * (4 * 64 + pool_cache * 2);
  for (const Port &port : ports) count += (port.rx_queues + workers) * descriptors_wanted;
  return std::max(count, 8191u);
}

Result<std::uint16_t> rx_queues_of(const config::Port &port, std::uint16_t id, unsigned workers) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0)
    return port_error(port.name, "cannot be examined", error);
  const std::string driver = driver_of(info);
  const auto queues = rx_queues_for(port, driver, static_cast<std::uint16_t>(workers), info.max_rx_queues);
  if (queues && *queues != port.rx_queues)
    fmt::print(stderr,
               "weir-dataplane: port {}: {} receive queues instead of {}: {} delivers to as many as it is "
               "sent by, and each of {} worker(s) sends by its own\n",
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

std::uint16_t tx_queues_max(const std::string &driver, std::uint16_t device_tx_max,
                            std::uint32_t longest_frame) {
  constexpr std::uint32_t of_one_queue = 0x3F00;
  if (driver == "net_e1000_em" && longest_frame == of_one_queue)
    return std::min<std::uint16_t>(device_tx_max, 1);
  return device_tx_max;
}

Status start_port(std::uint16_t port_id, const std::string &name, const PortSetup &setup) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port_id, &info); error != 0)
    return port_error(name, "cannot be examined", error);
  TRY(check_queues(name, setup, info));

  rte_eth_conf conf{};
  constexpr std::uint64_t over_addresses = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
  if (setup.rx_queues > 1 && (info.flow_type_rss_offloads & over_addresses) != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & over_addresses;
  }
  if (const int error = rte_eth_dev_configure(port_id, setup.rx_queues, setup.tx_queues, &conf); error != 0)
    return port_error(name, "cannot be configured", error);

  std::uint16_t rx = descriptors_wanted, tx = descriptors_wanted;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port_id, &rx, &tx); error != 0)
    return port_error(name, "has no suitable ring sizes", error);
  for (std::uint16_t q = 0; q < setup.rx_queues; ++q)
    if (const int error = rte_eth_rx_queue_setup(port_id, q, rx, SOCKET_ID_ANY, nullptr, setup.pool);
        error != 0)
      return port_error(name, "rx queue", error);
  for (std::uint16_t q = 0; q < setup.tx_queues; ++q)
    if (const int error = rte_eth_tx_queue_setup(port_id, q, tx, SOCKET_ID_ANY, nullptr); error != 0)
      return port_error(name, "tx queue", error);
  if (const int error = rte_eth_dev_start(port_id); error != 0)
    return port_error(name, "does not start", error);
  rte_eth_promiscuous_enable(port_id); // a wire in the middle is nobody's destination
  return {};
}

Result<Ports> Ports::open(const std::vector<config::Port> &wanted, unsigned workers) {
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
    ports.ports_.push_back({port.name, id, queues, port.side, other});
  }

  ports.pool_ = rte_pktmbuf_pool_create("weir_packets", mbufs_needed(ports.ports_, workers), pool_cache, 0,
                                        RTE_MBUF_DEFAULT_BUF_SIZE, node_of_workers());
  if (ports.pool_ == nullptr)
    return fail(Errc::no_memory, fmt::format("no memory for {} packets: {}; raise eal.memory_mib",
                                             mbufs_needed(ports.ports_, workers), rte_strerror(rte_errno)));
  for (const Port &port : ports.ports_) {
    const PortSetup setup{port.rx_queues, static_cast<std::uint16_t>(workers), ports.pool_};
    if (auto good = start_port(port.port_id, port.name, setup); !good) return std::unexpected(good.error());
  }
  return ports;
}

Ports::Ports(Ports &&other) noexcept
    : ports_(std::exchange(other.ports_, {})), owned_(other.owned_),
      pool_(std::exchange(other.pool_, nullptr)) {}

Ports &Ports::operator=(Ports &&other) noexcept {
  std::swap(ports_, other.ports_);
  std::swap(owned_, other.owned_);
  std::swap(pool_, other.pool_);
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
