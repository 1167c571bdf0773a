// A burst of real mbufs for SWX pipelines under test, made from frames and freed at the end.
#pragma once

#include "p4/swx/memory_port.hpp"

#include <cstdint>
#include <span>
#include <vector>

struct rte_mempool;

namespace weir::test {

class SwxBurst {
public:
  SwxBurst(); // EAL must run
  ~SwxBurst();
  SwxBurst(const SwxBurst &) = delete;
  SwxBurst &operator=(const SwxBurst &) = delete;

  void add(std::span<const std::uint8_t> frame, std::uint16_t port = 0, std::uint32_t wire_bytes = 0);
  [[nodiscard]] std::span<const p4::swx::Packet> packets() const { return packets_; }
  [[nodiscard]] std::vector<std::uint8_t> bytes_of(std::size_t packet) const;

private:
  rte_mempool *pool_ = nullptr;
  std::vector<p4::swx::Packet> packets_;
};

} // namespace weir::test
