// Ports of the configuration become ethdev ports: found by name, given queues, paired, started.
#pragma once

#include "dataplane/port/bypass.hpp"
#include "dataplane/port/queue.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"
#include "weir/config/kernel_interface.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct rte_mempool;

namespace weir::dataplane {

struct Port {
  std::string name;
  std::uint16_t port_id = 0; // ethdev
  std::uint16_t rx_queues = 1;
  PortSide side = PortSide::none;
  std::uint16_t peer = 0;                             // index of the port that sends what this one lets pass
  std::optional<config::KernelInterface> kernel = {}; // none: the device is DPDK's alone
  bool link_follows = false;                          // that of the peer
};

// How a port is set up, apart from where it comes from.
struct PortSetup {
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  rte_mempool *pool = nullptr;
  config::Port wanted = {}; // MTU, rings and the like, as the configuration has them
  std::optional<config::KernelInterface> kernel = {};
  bool cut_packets = false; // are to be sent: those that came in several segments
};

// Configures, starts; promiscuous, RSS over addresses where the device offers it. Tags and checksums stay as they come: no
// offload is asked for.
[[nodiscard]] Status start_port(std::uint16_t port_id, const std::string &name, const PortSetup &setup);

// How many receive queues a port has to have where `tx` are used for sending. A virtio card activates as many
// pairs as the larger of both numbers, and delivers to all of them: one that nobody reads would swallow its
// share. Errors say what to change.
[[nodiscard]] Result<std::uint16_t> rx_queues_for(const config::Port &port, const std::string &driver,
                                                  std::uint16_t tx, std::uint16_t device_rx_max);

// How many transmit queues of a device send. The driver of e1000 cards names two for all of them. Those before PCI
// Express have one, and are known by the longest frame that they take: the second takes packets until it is full,
// and sends none.
[[nodiscard]] std::uint16_t tx_queues_max(const std::string &driver, std::uint16_t device_tx_max,
                                          std::uint32_t longest_frame);

class Ports {
public:
  // Configures all ports of weir.yaml, one tx queue for each worker. Nothing is started before
  // every port was found, nor before the bypass is away; what it carried is not sent again.
  [[nodiscard]] static Result<Ports> open(const std::vector<config::Port> &wanted, const config::Eal &eal,
                                          unsigned workers, Bypass &bypass);
  Ports() = default;
  Ports(Ports &&other) noexcept;
  Ports &operator=(Ports &&other) noexcept;
  ~Ports(); // stops and closes

  [[nodiscard]] const std::vector<Port> &all() const noexcept { return ports_; }
  // What is not as it should be since the start, one sentence each.
  [[nodiscard]] const std::vector<std::string> &warnings() const noexcept { return warnings_; }
  // Adds a port that somebody else owns, is its own peer and is started already.
  void adopt(Port port) { ports_.push_back(std::move(port)), owned_ = false; }

  // Deals the (port, queue) pairs out to the workers in turn.
  [[nodiscard]] std::vector<std::vector<RxQueue>> deal(unsigned workers) const;

private:
  std::vector<Port> ports_;
  bool owned_ = true;
  rte_mempool *pool_ = nullptr;
  std::vector<std::string> warnings_;
};

} // namespace weir::dataplane
