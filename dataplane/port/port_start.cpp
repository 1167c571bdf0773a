// How one device is set up and started.
#include "dataplane/port/port.hpp"

#include "dataplane/port/kernel_link.hpp"
#include "dataplane/port/port_limits.hpp"
#include "dataplane/port/receive_hash.hpp"

#include <fmt/format.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>

namespace weir::dataplane {
namespace {

std::unexpected<Error> port_error(const std::string &name, const char *what, int code) {
  return fail(Errc::io, fmt::format("port {}: {}: {}", name, what, rte_strerror(-code)));
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

// An interface of the kernel has its MTU there: its drivers here do not say what they can do.
Status settle_mtu(const std::string &name, const PortSetup &setup, const rte_eth_dev_info &info,
                  rte_eth_conf &conf) {
  if (!setup.wanted.mtu) return {};
  if (!setup.kernel) {
    conf.rxmode.mtu = *setup.wanted.mtu;
    return check_mtu(setup.wanted, info);
  }
  TRY(check_mtu(setup.wanted, *setup.kernel));
  if (const Status set = set_link_mtu(setup.kernel->name, *setup.wanted.mtu); !set)
    return fail(set.error().code, fmt::format("port {}: {}", name, set.error().message));
  return {};
}

// `hash` has to live until the device is configured.
rte_eth_conf settings(const PortSetup &setup, const rte_eth_dev_info &info, ReceiveHash &hash) {
  rte_eth_conf conf{};
  if (setup.rx_queues > 1 && hash.over != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf = {hash.key_bytes > 0 ? hash.key.data() : nullptr, hash.key_bytes, hash.over};
  }
  if (setup.cut_packets) conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  return conf;
}

Status set_up_queues(std::uint16_t port_id, const std::string &name, const PortSetup &setup,
                     const rte_eth_dev_info &info, std::uint64_t tx_offloads) {
  auto rx = static_cast<std::uint16_t>(setup.wanted.rx_descriptors.value_or(config::descriptors_default));
  auto tx = static_cast<std::uint16_t>(setup.wanted.tx_descriptors.value_or(config::descriptors_default));
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port_id, &rx, &tx); error != 0)
    return port_error(name, "has no suitable ring sizes", error);
  rte_eth_rxconf rx_conf = info.default_rxconf;
  rte_eth_txconf tx_conf = info.default_txconf;
  rx_conf.offloads = 0; // whatever a driver would do by itself: tags and checksums stay
  tx_conf.offloads = tx_offloads;
  for (std::uint16_t q = 0; q < setup.rx_queues; ++q)
    if (const int error = rte_eth_rx_queue_setup(port_id, q, rx, SOCKET_ID_ANY, &rx_conf, setup.pool);
        error != 0)
      return port_error(name, "rx queue", error);
  for (std::uint16_t q = 0; q < setup.tx_queues; ++q)
    if (const int error = rte_eth_tx_queue_setup(port_id, q, tx, SOCKET_ID_ANY, &tx_conf); error != 0)
      return port_error(name, "tx queue", error);
  return {};
}

std::unexpected<Error> cannot(const std::string &name, const char *key, const rte_eth_dev_info &info,
                              int error) {
  if (error != -ENOTSUP) return port_error(name, key, error);
  return fail(Errc::config, fmt::format("port {}: {}: the driver {} cannot be told; take the key out", name,
                                        key, driver_of(info)));
}

// A wire in the middle is nobody's destination. Without: frames to the device's own address, and to groups.
Status set_promiscuous(std::uint16_t port_id, const std::string &name, const PortSetup &setup,
                       const rte_eth_dev_info &info) {
  const std::optional<bool> written = setup.wanted.promiscuous;
  const int error =
      written.value_or(true) ? rte_eth_promiscuous_enable(port_id) : rte_eth_promiscuous_disable(port_id);
  if (error != 0 && (written || error != -ENOTSUP)) return cannot(name, "promiscuous", info, error);
  if (!written.value_or(true))
    rte_eth_allmulticast_enable(port_id); // a driver without it takes groups anyway
  return {};
}

rte_eth_fc_mode mode_of(config::FlowControl wanted) {
  switch (wanted) {
  case config::FlowControl::off: return RTE_ETH_FC_NONE;
  case config::FlowControl::obey: return RTE_ETH_FC_RX_PAUSE;
  case config::FlowControl::send: return RTE_ETH_FC_TX_PAUSE;
  case config::FlowControl::both: return RTE_ETH_FC_FULL;
  }
  return RTE_ETH_FC_NONE;
}

// Off unless written: what a full queue loses is counted here, and holds nobody else up.
Status set_flow_control(std::uint16_t port_id, const std::string &name, const PortSetup &setup,
                        const rte_eth_dev_info &info) {
  const auto written = setup.wanted.flow_control;
  rte_eth_fc_conf conf{};
  int error = rte_eth_dev_flow_ctrl_get(port_id, &conf);
  if (error == 0) {
    conf.mode = mode_of(written.value_or(config::FlowControl::off));
    error = rte_eth_dev_flow_ctrl_set(port_id, &conf);
  }
  if (error != 0 && written) return cannot(name, "flow_control", info, error);
  return {};
}

} // namespace

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
  TRY(check_descriptors(setup.wanted, info));
  ReceiveHash hash = receive_hash(info);
  rte_eth_conf conf = settings(setup, info, hash);
  TRY(settle_mtu(name, setup, info, conf));
  if (const int error = rte_eth_dev_configure(port_id, setup.rx_queues, setup.tx_queues, &conf); error != 0)
    return port_error(name, "cannot be configured", error);
  TRY(set_up_queues(port_id, name, setup, info, conf.txmode.offloads));
  if (const int error = rte_eth_dev_start(port_id); error != 0)
    return port_error(name, "does not start", error);
  TRY(set_promiscuous(port_id, name, setup, info));
  return set_flow_control(port_id, name, setup, info);
}

} // namespace weir::dataplane
