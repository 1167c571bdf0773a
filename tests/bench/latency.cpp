// How long a packet is inside at a low rate: from the moment it is put into the receive ring until it
// can be taken from the transmit ring, one packet at a time, 20 to 80 us apart. The prober is on CPU 0,
// the worker alone on CPU 1; both spin. Addresses are not listed, so that every packet comes out.
//
//   worker, spinning   an lcore of its own, as eal.lcores gives it: this is the row of the closing table
//   worker, yielding   lcores that share CPUs with others give way and sleep when nothing comes
//   no image           the same worker without lookup
//   plain forwarding   receive burst, transmit burst, nothing else: what rings and CPUs cost here
//
// The figure held against floor and aim is the whole time, not only what the worker adds to plain
// forwarding.
#include "tests/bench/gate.hpp"

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include <algorithm>
#include <random>
#include <thread>

namespace weir::bench {
namespace {

constexpr std::uint32_t keys = 1'000'000;
constexpr unsigned packets = 64;

// A port with separate rings, and the prober's ends of them.
class ProbePort {
public:
  ProbePort() {
    pool_ = rte_pktmbuf_pool_create("probe", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    const auto ring = [](const char *name) {
      return rte_ring_create(name, 4 * packets, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    };
    rx_ = ring("probe_rx");
    tx_ = ring("probe_tx");
    if (!pool_ || !rx_ || !tx_) give_up("no memory for a port");
    id_ = ring_port("probe", rx_, tx_, pool_);
    packet_ = make_packet(pool_);
  }
  ~ProbePort() {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
    rte_ring_free(rx_);
    rte_ring_free(tx_);
    rte_mempool_free(pool_);
  }
  ProbePort(const ProbePort &) = delete;
  ProbePort &operator=(const ProbePort &) = delete;
  [[nodiscard]] std::uint16_t id() const { return id_; }

  // Microseconds inside, of each of `count` packets.
  std::vector<double> probe(unsigned count) {
    std::mt19937 random(11);
    std::uniform_int_distribution<std::uint64_t> gap_us(20, 80);
    std::vector<double> inside_us(count);
    for (double &us : inside_us) {
      const std::uint64_t go = rte_rdtsc() + gap_us(random) * rte_get_tsc_hz() / 1'000'000;
      while (rte_rdtsc() < go) rte_pause();
      void *out = nullptr;
      const std::uint64_t start = rte_rdtsc();
      rte_ring_enqueue(rx_, packet_);
      while (rte_ring_dequeue(tx_, &out) != 0) {
      }
      us = cycles_to_us(rte_rdtsc() - start);
      if (out != packet_) give_up("another packet came out than went in");
    }
    return inside_us;
  }

private:
  rte_mempool *pool_ = nullptr;
  rte_ring *rx_ = nullptr, *tx_ = nullptr;
  rte_mbuf *packet_ = nullptr;
  std::uint16_t id_ = 0;
};

void forward(std::uint16_t port, const std::atomic<bool> &stop) {
  rte_mbuf *burst[packets];
  while (!stop.load(std::memory_order_acquire)) {
    const std::uint16_t count = rte_eth_rx_burst(port, 0, burst, packets);
    if (count > 0) rte_eth_tx_burst(port, 0, burst, count);
  }
}

struct Percentiles {
  double p50 = 0, p99 = 0, p999 = 0, worst = 0;
};

Percentiles percentiles_of(std::vector<double> us) {
  std::ranges::sort(us);
  const auto at = [&](double share) {
    return us[static_cast<std::size_t>(share * static_cast<double>(us.size() - 1))];
  };
  return {at(0.5), at(0.99), at(0.999), us.back()};
}

// The loop on CPU 1 while the prober asks.
template <class Loop> Percentiles probe_while(ProbePort &port, unsigned count, const Loop &loop) {
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    run_on_cpu(1);
    loop(stop);
  });
  (void)port.probe(200); // settles
  const Percentiles result = percentiles_of(port.probe(count));
  stop = true;
  thread.join();
  return result;
}

void bench_latency(const Options &options, std::vector<Standing> &standings) {
  const std::string target = "latency at low rate, ring in to ring out, p99, us";
  if (cpus() < 2) return standings.push_back(not_measured(target, 50, 10, "needs two CPUs", true));
  run_on_cpu(0);
  const unsigned count = options.quick ? 4000 : 40'000;
  ProbePort port;
  const Image image(make_entries(keys), {}, false);
  dataplane::ListSlots lists;
  dataplane::ImageSlot slot(1), without(1);
  dataplane::Counters counters(1);
  (void)slot.publish(attached_copy(image, 1, {1, &lists, [] {}}));
  const auto worker = [&](dataplane::ImageSlot &images, dataplane::WhenIdle when_idle) {
    dataplane::WorkerSetup setup;
    setup.queues = {{port.id(), 0, 0, PortSide::none, port.id(), 0, 0}};
    setup.when_idle = when_idle;
    const auto one = std::make_unique<dataplane::Worker>(setup, images, counters);
    return probe_while(port, count, [&](const std::atomic<bool> &stop) { one->run(stop); });
  };

  Grid grid{{"", "p50 us", "p99 us", "p99.9 us", "worst us"}, {}};
  JsonLines lines(options, "latency");
  const auto row = [&](const char *what, const Percentiles &p) {
    grid.rows.push_back(
        {what, short_number(p.p50), short_number(p.p99), short_number(p.p999), short_number(p.worst)});
    lines.line({{"bench", "latency"},
                {"what", what},
                {"packets", std::uint64_t{count}},
                {"p50_us", p.p50},
                {"p99_us", p.p99},
                {"p999_us", p.p999},
                {"worst_us", p.worst}});
  };
  const Percentiles spinning = worker(slot, dataplane::WhenIdle::spin);
  row("worker, spinning", spinning);
  row("worker, yielding", worker(slot, dataplane::WhenIdle::yield));
  row("no image", worker(without, dataplane::WhenIdle::spin));
  row("plain forwarding",
      probe_while(port, count, [&](const std::atomic<bool> &stop) { forward(port.id(), stop); }));
  show(options, "latency",
       fmt::format("time inside at a low rate, {} packets one at a time, image of {} keys", count,
                   count_words(keys)),
       grid);
  standings.push_back({target, 50, 10, spinning.p99, true});
}

const Benchmark latency_benchmark{51, "latency", bench_latency};

} // namespace
} // namespace weir::bench
