#include "tests/p4/swx_burst.hpp"

#include <algorithm>
#include <atomic>
#include <rte_mbuf.h>
#include <stdexcept>
#include <string>

namespace weir::test {

SwxBurst::SwxBurst() {
  static std::atomic<unsigned> pools{0};
  const std::string name = "swx_burst" + std::to_string(pools++);
  pool_ = rte_pktmbuf_pool_create(name.c_str(), 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  if (!pool_) throw std::runtime_error("no memory for packets");
}

SwxBurst::~SwxBurst() { rte_mempool_free(pool_); }

void SwxBurst::add(std::span<const std::uint8_t> frame, std::uint16_t port, std::uint32_t wire_bytes) {
  rte_mbuf *mbuf = rte_pktmbuf_alloc(pool_);
  char *at = mbuf ? rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size())) : nullptr;
  if (!at) throw std::runtime_error("no room for a packet");
  std::ranges::copy(frame, at);
  packets_.push_back({mbuf, port, wire_bytes});
}

std::vector<std::uint8_t> SwxBurst::bytes_of(std::size_t packet) const {
  const rte_mbuf *mbuf = packets_[packet].mbuf;
  const auto *at = rte_pktmbuf_mtod(mbuf, const std::uint8_t *);
  return {at, at + rte_pktmbuf_data_len(mbuf)};
}

} // namespace weir::test
