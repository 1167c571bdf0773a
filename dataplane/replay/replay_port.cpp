#include "dataplane/replay/replay_port.hpp"

#include "dataplane/replay/replay_sink.hpp"
#include "dataplane/replay/replay_source.hpp"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>

namespace weir::dataplane {
namespace {

struct FreeRing {
  void operator()(rte_ring *ring) const noexcept { rte_ring_free(ring); }
};
struct FreePool {
  void operator()(rte_mempool *pool) const noexcept { rte_mempool_free(pool); }
};
using Ring = std::unique_ptr<rte_ring, FreeRing>;
using Pool = std::unique_ptr<rte_mempool, FreePool>;

constexpr unsigned ring_slots = 4096; // a ring holds one less: all mbufs of the pool

std::string because(const char *what) {
  return std::string("replay: cannot make ") + what + ": " + rte_strerror(rte_errno);
}

Result<Ring> make_ring(const char *name, unsigned flags) {
  Ring ring(rte_ring_create(name, ring_slots, SOCKET_ID_ANY, flags));
  if (!ring) return fail(Errc::no_memory, because(name));
  return ring;
}

Result<int> note_field() {
  constexpr rte_mbuf_dynfield field{"weir_packet_note", sizeof(PacketNote), alignof(PacketNote), 0};
  const int offset = rte_mbuf_dynfield_register(&field);
  if (offset < 0) return fail(Errc::no_memory, because("room for a note in every mbuf"));
  return offset;
}

// An output must not be the input, nor two outputs one file; devices like /dev/null may repeat.
Status check_paths(const ReplayOptions &options) {
  const std::filesystem::path *files[] = {&options.in, &options.out, &options.denied, &options.verdicts};
  for (std::size_t a = 0; a < std::size(files); ++a)
    for (std::size_t b = a + 1; b < std::size(files); ++b) {
      std::error_code ignored;
      const bool same = !files[a]->empty() && (files[a]->lexically_normal() == files[b]->lexically_normal() ||
                                               std::filesystem::equivalent(*files[a], *files[b], ignored));
      if (same && !std::filesystem::is_character_file(*files[a], ignored))
        return fail(Errc::usage,
                    "replay: " + files[b]->string() + " is named twice; every file needs a name of its own");
    }
  return {};
}

Result<ReplaySink::Files> open_outputs(const ReplayOptions &options, const CaptureReader &reader) {
  ReplaySink::Files files;
  const auto open = [&](const std::filesystem::path &name, CaptureWriter &writer) -> Status {
    if (name.empty()) return {};
    writer = TRY(CaptureWriter::create(name, reader.snapshot_bytes(), reader.nanoseconds()));
    return {};
  };
  TRY(open(options.out, files.passed));
  TRY(open(options.denied, files.denied));
  if (!options.verdicts.empty()) {
    files.verdicts_name = options.verdicts;
    files.verdicts.reset(std::fopen(options.verdicts.c_str(), "wb"));
    if (!files.verdicts)
      return fail(Errc::io, "cannot write " + options.verdicts.string() + ": " + std::strerror(errno));
  }
  return files;
}

} // namespace

Result<ReplayGate> parse_gate(const std::string &text) {
  ReplayGate gate;
  const char *end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, gate.index);
  if (index.ec == std::errc{} && index.ptr != end && *index.ptr == ':') {
    Generation::rep number = 0;
    const auto generation = std::from_chars(index.ptr + 1, end, number);
    gate.generation = Generation(number);
    if (generation.ec == std::errc{} && generation.ptr == end) return gate;
  }
  return fail(Errc::usage, "--gate " + text + ": write INDEX:GENERATION, two numbers, for example 1000:2");
}

struct ReplayPort::Parts {
  Pool pool;
  Ring rx, tx, denied;
  int note_offset = -1;
  std::uint16_t port_id = RTE_MAX_ETHPORTS;
  ReplayShared shared;
  std::optional<ReplaySource> source;
  std::unique_ptr<ReplaySink> sink;
  std::thread source_thread, sink_thread;

  void join() {
    if (source_thread.joinable()) source_thread.join();
    if (sink_thread.joinable()) sink_thread.join();
  }
};

ReplayPort::ReplayPort(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<ReplayPort>> ReplayPort::create(const ReplayOptions &options, ListNameOf list_name) {
  if (options.loops == 0) return fail(Errc::usage, "replay: --loop 0 would replay nothing; use 1 or more");
  TRY(check_paths(options));
  auto reader = TRY(CaptureReader::open(options.in));
  auto files = TRY(open_outputs(options, reader));

  auto parts = std::make_unique<Parts>();
  parts->note_offset = TRY(note_field());
  parts->pool.reset(rte_pktmbuf_pool_create("weir_replay", pool_mbufs_count, 0, 0,
                                            RTE_PKTMBUF_HEADROOM + segment_bytes, SOCKET_ID_ANY));
  if (!parts->pool) return fail(Errc::no_memory, because("the pool for 4095 packets (10 MiB)"));

  auto rx = make_ring("weir_replay_rx", RING_F_SP_ENQ | RING_F_SC_DEQ);
  auto tx = make_ring("weir_replay_tx", RING_F_SC_DEQ);
  auto denied = make_ring("weir_replay_denied", RING_F_SC_DEQ);
  for (auto *ring : {&rx, &tx, &denied})
    if (!*ring) return std::unexpected(ring->error());
  parts->rx = std::move(*rx);
  parts->tx = std::move(*tx);
  parts->denied = std::move(*denied);

  rte_ring *rx_rings[] = {parts->rx.get()}, *tx_rings[] = {parts->tx.get()};
  const int port = rte_eth_from_rings("weir_replay", rx_rings, 1, tx_rings, 1, 0);
  if (port < 0) return fail(Errc::io, because("a port from rings"));
  parts->port_id = static_cast<std::uint16_t>(port);

  Parts &p = *parts;
  p.source.emplace(std::move(reader), options, ReplaySource::Wiring{p.pool.get(), p.rx.get(), p.note_offset},
                   p.shared);
  p.sink =
      std::make_unique<ReplaySink>(std::move(files), std::move(list_name),
                                   ReplaySink::Wiring{p.tx.get(), p.denied.get(), p.note_offset}, p.shared);
  return std::unique_ptr<ReplayPort>(new ReplayPort(std::move(parts)));
}

ReplayPort::~ReplayPort() {
  parts_->shared.stop.store(true);
  parts_->shared.abandon.store(true);
  parts_->join();
  rte_eth_dev_stop(parts_->port_id);
  rte_eth_dev_close(parts_->port_id);
}

std::uint16_t ReplayPort::port_id() const noexcept { return parts_->port_id; }
rte_mempool *ReplayPort::pool() const noexcept { return parts_->pool.get(); }
rte_ring *ReplayPort::denied_ring() const noexcept { return parts_->denied.get(); }
int ReplayPort::note_offset() const noexcept { return parts_->note_offset; }

void ReplayPort::start() {
  parts_->sink_thread = std::thread([sink = parts_->sink.get()] { sink->run(); });
  parts_->source_thread = std::thread([source = &*parts_->source] { source->run(); });
}

void ReplayPort::generation_live(Generation generation) noexcept {
  parts_->shared.live_generation.store(generation, std::memory_order_release);
}

void ReplayPort::request_stop() noexcept { parts_->shared.stop.store(true); }

bool ReplayPort::finished() const noexcept {
  return parts_->shared.sink_done.load() || parts_->shared.failed.load();
}

ReplayProgress ReplayPort::progress() const noexcept {
  const ReplayShared &s = parts_->shared;
  ReplayProgress now;
  now.written = s.written.load(std::memory_order_acquire);
  now.read = s.read.load(std::memory_order_acquire);
  now.eof = s.eof.load();
  now.truncated = s.truncated.load();
  if (now.written > 0)
    now.seconds =
        std::chrono::duration<double>(ReplayShared::Clock::duration(s.last_write - s.first_release)).count();
  return now;
}

Result<ReplayProgress> ReplayPort::finish() {
  ReplayShared &shared = parts_->shared;
  if (!shared.sink_done.load()) { // an error, or a caller in a hurry: nothing will come any more
    shared.stop.store(true);
    shared.abandon.store(true);
  }
  parts_->join();
  auto closed = parts_->sink->close();
  if (auto error = shared.error()) return std::unexpected(std::move(*error));
  if (!closed) return std::unexpected(closed.error());
  const ReplayProgress end = progress();
  if (end.written != end.read)
    return fail(Errc::io,
                "replay: stopped with " + std::to_string(end.read - end.written) + " packets under way");
  return end;
}

} // namespace weir::dataplane
