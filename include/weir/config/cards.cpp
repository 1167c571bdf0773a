#include "weir/config/cards.hpp"

namespace weir::config {

std::uint64_t locked_bytes(const Config &config, bool on_hugepages) {
  constexpr std::uint64_t mib = 1 << 20;
  if (config.eal.memory_mib > 0) return config.eal.memory_mib * mib;
  if (!on_hugepages) return ordinary_memory_mib * mib;
  unsigned queues = 0;
  for (const Port &port : config.ports) queues += port.rx_queues;
  constexpr std::uint64_t packet_bytes = 2560, packets_a_queue = 1024;
  // Each port sends by as many queues as there are workers, and these are as many as queues to read at most.
  return queues * (1 + config.ports.size()) * packets_a_queue * packet_bytes + 32 * mib;
}

} // namespace weir::config
