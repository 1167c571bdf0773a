// By what a card deals packets out to its queues: by source address alone where it can, so that what one sender did is known to
// one worker; else by both addresses (and ports) in such a way that the two directions of a flow come to the same queue.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>

namespace weir::dataplane {

struct ReceiveHash {
  std::uint64_t over = 0;             // RTE_ETH_RSS_*; 0: the card hashes no addresses
  std::array<std::uint8_t, 64> key{}; // of key_bytes; 0: the driver's own
  std::uint8_t key_bytes = 0;
};

[[nodiscard]] ReceiveHash receive_hash(const rte_eth_dev_info &info) noexcept;

} // namespace weir::dataplane
