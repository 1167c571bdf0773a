#include "tests/bench/gate.hpp"

#include "dataplane/packet/samples.hpp"
#include "dataplane/port/port.hpp"
#include "weir/image/memory_file.hpp"

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <ctime>
#include <sched.h>
#include <set>
#include <unistd.h>

namespace weir::bench {
namespace {

std::string unique_name(const char *what) {
  static std::atomic<unsigned> made{0};
  return fmt::format("bench_{}{}", what, made++);
}

} // namespace

LoopFrame plain_frame() {
  LoopFrame frame{{0x02, 0, 0, 0,  0, 1,  0x02, 0, 0,  0,  0, 2, 0x08, 0x00, // Ethernet, IPv4
                   0x45, 0, 0, 46, 0, 0,  0,    0, 64, 17, 0, 0, 192,  0,    2, 1, 198, 51, 100, 1, // UDP
                   0x04, 0, 0, 53, 0, 26, 0,    0}, // 1024 to 53
                  14 + 12};
  frame.bytes.resize(60);
  return frame;
}

namespace {

rte_mbuf *make_packet(rte_mempool *pool, const LoopFrame &frame) {
  rte_mbuf *packet = rte_pktmbuf_alloc(pool);
  char *data = packet ? rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.bytes.size())) : nullptr;
  if (!data) give_up("no packet left in a pool of the benchmark");
  std::memcpy(data, frame.bytes.data(), frame.bytes.size());
  packet->hash.usr = frame.written_at; // nobody else asks for it
  return packet;
}

} // namespace

rte_mbuf *make_packet(rte_mempool *pool) { return make_packet(pool, plain_frame()); }

std::uint16_t ring_port(const std::string &name, rte_ring *rx, rte_ring *tx, rte_mempool *pool) {
  const int id = rte_eth_from_rings(name.c_str(), &rx, 1, &tx, 1, 0);
  if (id < 0) give_up("no port can be made of rings");
  const auto port = static_cast<std::uint16_t>(id);
  if (const auto started = dataplane::start_port(port, name, {1, 1, pool}); !started)
    give_up(started.error().message);
  return port;
}

LoopPort::LoopPort(const std::vector<LoopFrame> &frames) {
  const std::string name = unique_name("loop");
  pool_ = rte_pktmbuf_pool_create(name.c_str(), loop_packets, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  ring_ = rte_ring_create(name.c_str(), 2 * loop_packets, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (!pool_ || !ring_) give_up("no memory for packets");
  for (unsigned i = 0; i < loop_packets; ++i)
    rte_ring_enqueue(ring_, make_packet(pool_, frames[i % frames.size()]));
  port_id_ = ring_port(name, ring_, ring_, pool_);
  callback_ = rte_eth_add_rx_callback(port_id_, 0, &LoopPort::receive, this);
  if (!callback_) give_up("this DPDK has no receive callbacks");
}

// DPDK keeps callbacks by port number: the next port of this number would call what is no more.
LoopPort::~LoopPort() {
  rte_eth_remove_rx_callback(port_id_, 0, callback_);
  rte_eth_dev_stop(port_id_);
  rte_eth_dev_close(port_id_);
  rte_ring_free(ring_);
  rte_mempool_free(pool_);
}

dataplane::RxQueue LoopPort::way(std::uint16_t port_index) const {
  return {port_id_, 0, port_index, PortSide::none, port_id_, 0, port_index};
}

void LoopPort::feed(std::span<const std::uint32_t> sources, std::uint64_t packets, std::atomic<bool> *stop) {
  sources_ = sources;
  at_ = 0;
  left_ = packets == 0 ? ~std::uint64_t{0} : packets;
  stop_ = stop;
  last_cycle_ = 0;
}

std::uint16_t LoopPort::receive(std::uint16_t, std::uint16_t, rte_mbuf **packets, std::uint16_t count,
                                std::uint16_t, void *self) {
  auto &port = *static_cast<LoopPort *>(self);
  if (port.at_ + count > port.sources_.size()) port.at_ = 0;
  const std::uint32_t *sources = &port.sources_[port.at_];
  for (unsigned i = 0; i < count; ++i)
    std::memcpy(rte_pktmbuf_mtod_offset(packets[i], void *, packets[i]->hash.usr), sources + i,
                sizeof *sources);
  port.at_ += count;
  const std::uint64_t now = rte_rdtsc();
  LoopTimes *const times = port.times.load(std::memory_order_acquire);
  if (times && port.last_cycle_ != 0) times->saw(now - port.last_cycle_);
  port.last_cycle_ = now;
  if (port.on_burst) port.on_burst();
  if (port.left_ > count)
    port.left_ -= count;
  else if (port.stop_)
    port.stop_->store(true, std::memory_order_release);
  return count;
}

unsigned LoopPort::packets_present() const {
  std::vector<void *> all(2 * loop_packets);
  const unsigned count =
      rte_ring_dequeue_burst(ring_, all.data(), static_cast<unsigned>(all.size()), nullptr);
  const std::set<void *> distinct(all.begin(), all.begin() + count);
  rte_ring_enqueue_burst(ring_, all.data(), count, nullptr);
  return static_cast<unsigned>(distinct.size());
}

std::unique_ptr<dataplane::AttachedImage> attached_copy(const Image &image, Generation generation,
                                                        const dataplane::AttachContext &context) {
  return attached_copy(image.region().bytes(), generation, context);
}

std::unique_ptr<dataplane::AttachedImage> attached_copy(Bytes bytes, Generation generation,
                                                        const dataplane::AttachContext &context) {
  const auto header = *reinterpret_cast<const image::ImageHeader *>(bytes.data());
  auto file = image::MemoryFile::make(header.total_bytes, true);
  if (!file) give_up(file.error().message);
  std::memcpy(file->bytes().data(), bytes.data(), header.total_bytes);
  auto &copy = *reinterpret_cast<image::ImageHeader *>(file->bytes().data());
  copy.generation = generation;
  copy.header_checksum = checksum(Bytes(file->bytes()).first(offsetof(image::ImageHeader, header_checksum)));
  const auto fd = std::move(*file).seal();
  if (!fd) give_up(fd.error().message);
  auto attached = dataplane::attach_memfd(
      fd->get(), {header.store_id, generation, header.sequence, header.total_bytes}, context);
  if (!attached) give_up(attached.error().message);
  return std::move(*attached);
}

std::unique_ptr<dataplane::AttachedImage> attached_gate(std::span<const build::EntryV4> hosts,
                                                        Generation generation,
                                                        const dataplane::AttachContext &context,
                                                        const std::function<void(build::BuildInput &)> &add) {
  build::BuildInput input;
  input.lists.push_back({.name = "bad", .number = ListId(0), .side = Side::deny});
  input.deny.v4 = hosts;
  input.deny.hosts_v4 = build::HostHome::words;
  input.identity.generation = generation;
  input.seed = 0x5EED;
  add(input);
  Region region(build::image_bytes(input));
  if (const auto report = build::build_image(input, region.bytes()); !report) give_up(report.error().message);
  return attached_copy(region.bytes(), generation, context);
}

void throw_away(dataplane::SampleRings &samples) {
  for (std::size_t sort = 0; sort < dataplane::sample_sorts; ++sort)
    (void)samples.collect(static_cast<dataplane::SampleSort>(sort), 4096);
}

double LoopTimes::mean_us() const {
  return loops.get() == 0 ? 0 : cycles_to_us(sum_cycles.get()) / static_cast<double>(loops.get());
}

double LoopTimes::worst_us() const { return cycles_to_us(worst_cycles.get()); }

unsigned cpus() {
  cpu_set_t before, all;
  sched_getaffinity(0, sizeof before, &before);
  run_on_all_cpus();
  sched_getaffinity(0, sizeof all, &all);
  sched_setaffinity(0, sizeof before, &before);
  return static_cast<unsigned>(CPU_COUNT(&all));
}

void run_on_cpu(unsigned cpu) {
  cpu_set_t all, one;
  run_on_all_cpus();
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (unsigned i = 0, seen = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all) && seen++ == cpu) CPU_SET(i, &one);
  if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof one, &one);
}

void run_on_all_cpus() {
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof all); // the kernel takes those that there are
  sched_setaffinity(0, sizeof all, &all);
}

double cpu_ns_of(pthread_t thread) {
  clockid_t clock{};
  timespec now{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &now) != 0)
    give_up("a thread's CPU time cannot be read");
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double cycles_to_us(std::uint64_t cycles) {
  return static_cast<double>(cycles) * 1e6 / static_cast<double>(rte_get_tsc_hz());
}

} // namespace weir::bench
