#include "tests/support/ring_gate.hpp"

#include "dataplane/packet/handover.hpp"
#include "tests/support/segments.hpp"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace weir::test {
namespace {

using namespace std::chrono_literals;
constexpr unsigned packets_max = 8191;
constexpr unsigned ring_slots = 8192; // room for all of them: such a ring is never full

void must(bool good, const char *what) {
  if (!good) throw std::runtime_error(std::string("ring gate: ") + what);
}

} // namespace

RingGate::RingGate(const RingGateOptions &options) {
  static unsigned made = 0;
  const std::string tag = std::to_string(made++);
  std::string name = (std::filesystem::temp_directory_path() / "weir-gate-XXXXXX").string();
  must(mkdtemp(name.data()) != nullptr, "a folder");
  folder_ = name;
  pool_ = rte_pktmbuf_pool_create(("pool" + tag).c_str(), packets_max, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                  SOCKET_ID_ANY);
  must(pool_ != nullptr, "a pool");

  dataplane::DataplaneSetup setup;
  setup.workers = queues_ = options.workers;
  setup.state_dir = folder_;
  setup.no_image = options.no_image;
  setup.node_of_worker = options.node_of_worker;
  setup.when_idle = dataplane::WhenIdle::yield;
  dataplane_ = std::make_unique<dataplane::Dataplane>(setup);
  for (unsigned p = 0; p < 2; ++p) {
    const std::string port = "g" + tag + "p" + std::to_string(p);
    for (unsigned q = 0; q < queues_; ++q) {
      const std::string ring = port + "q" + std::to_string(q);
      rx_[p][q] = rte_ring_create((ring + "rx").c_str(), ring_slots, SOCKET_ID_ANY, 0);
      tx_[p][q] = rte_ring_create((ring + "tx").c_str(), options.tx_slots, SOCKET_ID_ANY, 0);
      must(rx_[p][q] != nullptr && tx_[p][q] != nullptr, "rings");
    }
    const int id = rte_eth_from_rings(port.c_str(), rx_[p], queues_, tx_[p], queues_, 0);
    must(id >= 0, "a port");
    port_ids_[p] = static_cast<std::uint16_t>(id);
    must(dataplane::start_port(
             port_ids_[p], port,
             {static_cast<std::uint16_t>(queues_), static_cast<std::uint16_t>(queues_), pool_})
             .has_value(),
         "a started port");
    dataplane_->ports.adopt({p == 0 ? "wan" : "lan", port_ids_[p], static_cast<std::uint16_t>(queues_),
                             options.sides[p], static_cast<std::uint16_t>(1 - p)});
    dataplane_->rules.ports.push_back(p == 0 ? "wan" : "lan");
  }
  service_ = std::make_unique<dataplane::Service>(*dataplane_);
  must(service_->listen(socket()).has_value(), "a socket");
  must(dataplane_->start_workers().has_value(), "workers");
  serving_ = std::thread([this] {
    while (!stop_) [[maybe_unused]]
      const bool more = service_->turn(500us);
  });
}

RingGate::~RingGate() {
  stop_ = true;
  serving_.join();
  dataplane_->stop_workers();
  service_.reset();
  dataplane_.reset();
  for (unsigned p = 0; p < 2; ++p) {
    take(p);
    rte_eth_dev_stop(port_ids_[p]);
    rte_eth_dev_close(port_ids_[p]);
    for (unsigned q = 0; q < queues_; ++q) {
      rte_ring_free(rx_[p][q]);
      rte_ring_free(tx_[p][q]);
    }
  }
  rte_mempool_free(pool_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool RingGate::offer(unsigned port, std::span<const std::uint8_t> frame, std::span<const std::size_t> cuts) {
  rte_mbuf *packet = in_segments(pool_, frame, cuts);
  if (packet == nullptr) return false;
  for (rte_mbuf *segment = packet; segment != nullptr; segment = segment->next)
    dataplane::hands_over(segment);
  next_queue_ = (next_queue_ + 1) % queues_;
  if (rte_ring_enqueue(rx_[port][next_queue_], packet) == 0) return true;
  rte_pktmbuf_free(packet);
  return false;
}

unsigned RingGate::take(unsigned port, const See &see) {
  void *packets[64];
  unsigned total = 0;
  for (unsigned q = 0; q < queues_; ++q)
    while (const unsigned n = rte_ring_dequeue_burst(tx_[port][q], packets, 64, nullptr)) {
      for (unsigned i = 0; i < n; ++i) {
        dataplane::takes_over(packets[i]);
        const auto *packet = static_cast<const rte_mbuf *>(packets[i]);
        if (see) see({rte_pktmbuf_mtod(packet, const std::uint8_t *), rte_pktmbuf_data_len(packet)});
      }
      rte_pktmbuf_free_bulk(reinterpret_cast<rte_mbuf **>(packets), n);
      total += n;
    }
  return total;
}

std::uint64_t RingGate::judged() const {
  std::uint64_t sum = 0;
  for (unsigned w = 0; w < queues_; ++w)
    sum += dataplane_->counters.worker(w)[dataplane::CounterId::judged].get();
  return sum;
}

RingGate::Outcome RingGate::judge(unsigned port, std::span<const std::uint8_t> frame,
                                  std::span<const std::size_t> cuts) {
  const auto cell = [&](std::size_t r, std::size_t v) {
    std::uint64_t sum = 0;
    for (unsigned w = 0; w < queues_; ++w)
      for (const auto &family : dataplane_->counters.worker(w).verdicts[r][v]) sum += family.get();
    return sum;
  };
  std::uint64_t before[reason_count][2];
  for (std::size_t r = 0; r < reason_count; ++r)
    for (std::size_t v = 0; v < 2; ++v) before[r][v] = cell(r, v);
  take(1 - port);
  const std::uint64_t judged_before = judged();
  must(offer(port, frame, cuts), "a place for a frame");
  for (int i = 0; i < 100'000 && judged() == judged_before; ++i) std::this_thread::sleep_for(50us);
  must(judged() == judged_before + 1, "a verdict");

  Outcome outcome;
  outcome.came_out = take(1 - port) == 1;
  for (std::size_t r = 0; r < reason_count; ++r)
    for (std::size_t v = 0; v < 2; ++v)
      if (cell(r, v) != before[r][v]) {
        outcome.reason = static_cast<Reason>(r);
        outcome.verdict = static_cast<Verdict>(v);
      }
  return outcome;
}

} // namespace weir::test
