#include "weir/config/cards.hpp"

#include <algorithm>

namespace weir::config {

std::uint64_t locked_bytes(const Config &config, bool on_hugepages) {
  constexpr std::uint64_t mib = 1 << 20;
  if (config.eal.memory_mib > 0) return config.eal.memory_mib * mib;
  if (!on_hugepages) return ordinary_memory_mib * mib;
  std::uint64_t queues = 0, received = 0, mtu = mtu_default, sent_a_worker = 0;
  for (const Port &port : config.ports) {
    queues += port.rx_queues;
    received += std::uint64_t{port.rx_queues} * port.rx_descriptors.value_or(descriptors_default);
    sent_a_worker += port.tx_descriptors.value_or(descriptors_default);
    mtu = std::max<std::uint64_t>(mtu, mtu_of(port));
  }
  // A segment that a frame fits in, its head, and what else stands with it.
  const std::uint64_t packet_bytes = std::max<std::uint64_t>(mtu + 1024, 2048) / 1024 * 1024 + 512;
  // Each port sends by as many queues as there are workers, and these are as many as queues to read at most.
  return (received + queues * sent_a_worker) * packet_bytes + 32 * mib;
}

} // namespace weir::config
