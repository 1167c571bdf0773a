// Capture files as replay reads them, classic and pcapng, through its own reader and source. The input is
//
//   byte 0       bit 0: read twice (--loop 2)
//   bytes 1-4    where zeros are put into the file, little-endian
//   bytes 5-8    how many, so that a small input can be a file with a large packet
//   then         the file
//
// Whatever comes, every packet that is read reaches the ring whole and in order, or the file is refused.
#include "dataplane/eal.hpp"
#include "dataplane/replay/replay_source.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <fmt/format.h>

#include <rte_mempool.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace {

using namespace weir;
using namespace weir::dataplane;
using fuzz::require;

constexpr std::size_t head_bytes = 9;
constexpr std::uint32_t zeros_max = 2 << 20;

// EAL, a pool and a ring for all inputs, made at the first.
struct Stage {
  Stage() {
    EalPlan plan;
    plan.private_runtime_folder = true;
    plan.arguments = {"weir-fuzz", "--no-huge", "--no-shconf", "--no-pci",    "--no-telemetry", "-m",
                      "128",       "--lcores",  "0@0",         "--log-level", "*:warning"};
    if (!Machine::here().cpus.empty()) plan.arguments[8] = fmt::format("0@{}", Machine::here().cpus.front());
    auto started = Eal::start(plan);
    require(started.has_value(), "EAL starts");
    eal = std::make_unique<Eal>(std::move(*started));
    static const rte_mbuf_dynfield field{"weir_fuzz_note", sizeof(PacketNote), alignof(PacketNote), 0};
    note_offset = rte_mbuf_dynfield_register(&field);
    pool = rte_pktmbuf_pool_create("fuzz", ReplayPort::pool_mbufs_count, 0, 0,
                                   RTE_PKTMBUF_HEADROOM + ReplayPort::segment_bytes, SOCKET_ID_ANY);
    ring = rte_ring_create("fuzz", 4096, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    require(note_offset >= 0 && pool != nullptr && ring != nullptr, "there is memory for packets");
  }
  std::unique_ptr<Eal> eal;
  rte_mempool *pool = nullptr;
  rte_ring *ring = nullptr;
  int note_offset = -1;
};

Stage &stage() {
  static Stage one;
  return one;
}

// A file without a folder.
class File {
public:
  explicit File(const std::vector<std::byte> &bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    require(fd_ >= 0 && write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "the capture is written");
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() { close(fd_); }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

private:
  int fd_;
};

// Takes packets off the ring and looks at each.
class Drain {
public:
  void take() {
    void *packet = nullptr;
    while (rte_ring_sc_dequeue(stage().ring, &packet) == 0) look_at(static_cast<rte_mbuf *>(packet));
  }
  [[nodiscard]] std::uint64_t packets() const { return packets_; }

private:
  void look_at(rte_mbuf *packet) {
    std::uint32_t bytes = 0;
    unsigned segments = 0;
    for (const rte_mbuf *at = packet; at != nullptr; at = at->next, ++segments) bytes += at->data_len;
    require(bytes == packet->pkt_len && bytes <= captured_bytes_max, "a packet has the bytes it says");
    require(segments == packet->nb_segs, "a packet has the segments it says");
    require(note_of(packet, stage().note_offset).index == packets_++, "packets come in order");
    rte_pktmbuf_free(packet);
  }
  std::uint64_t packets_ = 0;
};

void play(CaptureReader reader, std::uint64_t loops) {
  ReplayOptions options;
  options.loops = loops;
  ReplayShared shared;
  shared.live_generation = 1;
  ReplaySource source(std::move(reader), options, {stage().pool, stage().ring, stage().note_offset}, shared);
  std::thread thread([&] { source.run(); });
  Drain drain;
  while (!shared.source_done.load(std::memory_order_acquire)) {
    drain.take();
    std::this_thread::yield();
  }
  thread.join();
  drain.take();
  require(drain.packets() == shared.read.load(), "every packet read is handed on");
  require(rte_mempool_avail_count(stage().pool) == ReplayPort::pool_mbufs_count, "no packet memory is lost");
}

} // namespace

FUZZ_TARGET(capture, data) {
  if (data.size() < head_bytes) return;
  const std::uint64_t loops = 1 + (static_cast<unsigned>(data[0]) & 1);
  const std::size_t at = weir::load_unaligned<std::uint32_t>(data.data() + 1);
  const std::size_t zeros = weir::load_unaligned<std::uint32_t>(data.data() + 5) % (zeros_max + 1);
  auto bytes = weir::fuzz::exact_copy(data.subspan(head_bytes));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size())), zeros, std::byte{0});
  const File file(bytes);
  auto reader = CaptureReader::open(file.path());
  if (reader) play(std::move(*reader), loops);
}
