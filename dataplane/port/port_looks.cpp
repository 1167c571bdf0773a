#include "dataplane/port/port_looks.hpp"

#include "weir/base/say.hpp"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>

namespace weir::dataplane {
namespace {

using namespace std::chrono_literals;
constexpr auto losses_every = 1s;
constexpr std::uint64_t descriptors_max = 4096; // of a queue: what may be on its way

std::vector<std::pair<std::string, std::uint64_t>> losses_of(std::uint16_t port) {
  const int count = rte_eth_xstats_get(port, nullptr, 0);
  if (count <= 0) return {};
  std::vector<rte_eth_xstat> values(static_cast<std::size_t>(count));
  std::vector<rte_eth_xstat_name> names(values.size());
  const auto room = static_cast<unsigned>(count);
  if (rte_eth_xstats_get(port, values.data(), room) != count ||
      rte_eth_xstats_get_names(port, names.data(), room) != count)
    return {};
  std::vector<std::pair<std::string, std::uint64_t>> losses;
  for (const rte_eth_xstat &one : values)
    if (one.id < names.size() && names_a_loss(names[one.id].name))
      losses.emplace_back(names[one.id].name, one.value);
  return losses;
}

std::uint64_t counted(const Counters &counters, std::size_t port, PortCounterId id) {
  std::uint64_t sum = 0;
  for (unsigned w = 0; w < counters.workers(); ++w) sum += counters.worker(w).ports[port][id].get();
  return sum;
}

bool look_at(const Port &port, std::size_t index, const Counters &counters, PortLook &look) {
  // The whole after its parts: what arrives, or is sent, in between makes no difference that would be a loss.
  const std::uint64_t weir_sent = counted(counters, index, PortCounterId::tx_packets);
  rte_eth_stats device{};
  if (rte_eth_stats_get(port.port_id, &device) != 0) return false;
  look = {.device_packets = device.ipackets,
          .missed = device.imissed,
          .no_buffers = device.rx_nombuf,
          .errors = device.ierrors,
          .device_sent = device.opackets,
          .send_errors = device.oerrors,
          .weir_sent = weir_sent,
          .refused = counted(counters, index, PortCounterId::tx_refused),
          .others = losses_of(port.port_id)};
  for (std::size_t q = port.rx_queues; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q)
    look.unread_queues += device.q_ipackets[q];
  look.weir_packets = counted(counters, index, PortCounterId::rx_packets);
  return true;
}

} // namespace

void PortLooks::look_if_due(const Ports &ports, const Counters &counters) {
  const auto now = std::chrono::steady_clock::now();
  if (now < due_) return;
  due_ = now + losses_every;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < ports.all().size(); ++i) {
    const Port &port = ports.all()[i];
    const std::uint64_t queues = std::max<std::uint64_t>(port.rx_queues, counters.workers());
    if (watches_.size() <= i) watches_.emplace_back(port.name, queues * descriptors_max);
    PortLook look;
    if (!look_at(port, i, counters, look)) continue;
    const bool news = watches_[i].look(look);
    for (std::string &warning : watches_[i].warnings()) {
      if (news) say_sentence("weir-dataplane", warning);
      all.push_back(std::move(warning));
    }
  }
  const std::lock_guard lock(mutex_);
  warnings_ = std::move(all);
}

std::vector<std::string> PortLooks::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

} // namespace weir::dataplane
