#include "dataplane/port/receive_hash.hpp"

namespace weir::dataplane {

ReceiveHash receive_hash(const rte_eth_dev_info &info) noexcept {
  constexpr std::uint64_t over_addresses = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
  ReceiveHash hash{.over = info.flow_type_rss_offloads & over_addresses};
  if (hash.over == 0) return hash;
  if ((info.flow_type_rss_offloads & RTE_ETH_RSS_L3_SRC_ONLY) != 0) {
    hash.over |= RTE_ETH_RSS_L3_SRC_ONLY;
    return hash;
  }
  // A Toeplitz hash whose key repeats each 16 bits says the same of both directions [Woo, Park: scalable TCP session monitoring
  // with symmetric receive-side scaling].
  constexpr std::uint8_t repeated[] = {0x6D, 0x5A};
  if (info.hash_key_size > hash.key.size()) return hash;
  hash.key_bytes = info.hash_key_size;
  for (std::uint8_t i = 0; i < hash.key_bytes; ++i) hash.key[i] = repeated[i % 2];
  return hash;
}

} // namespace weir::dataplane
