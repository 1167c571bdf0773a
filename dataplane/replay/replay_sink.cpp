#include "dataplane/replay/replay_sink.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace weir::dataplane {

ReplaySink::ReplaySink(Files files, ListNameOf list_name, Wiring wiring, ReplayShared &shared)
    : files_(std::move(files)), list_name_(std::move(list_name)), wiring_(wiring), shared_(shared) {
  if (files_.verdicts) std::fputs("index,generation,verdict,reason,list\n", files_.verdicts.get());
}

void ReplaySink::run() {
  while (!shared_.abandon.load(std::memory_order_relaxed)) {
    const bool done = shared_.source_done.load(std::memory_order_acquire) &&
                      shared_.read.load(std::memory_order_acquire) == next_;
    if (done) break;
    const unsigned got = collect(wiring_.passed, Verdict::pass) + collect(wiring_.denied, Verdict::drop);
    write_in_order();
    if (auto good = status(); !good) shared_.set_error(good.error());
    if (got == 0) replay_pause();
  }
  for (rte_mbuf *packet : window_) rte_pktmbuf_free(packet); // only when abandoned; null is fine
  shared_.sink_done.store(true, std::memory_order_release);
}

// Puts what waits in a ring into the window. `door` is what really happened to these packets.
unsigned ReplaySink::collect(rte_ring *ring, Verdict door) {
  std::array<rte_mbuf *, burst_packets_max> burst;
  const unsigned got =
      rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void **>(burst.data()), burst_packets_max, nullptr);
  for (unsigned i = 0; i < got; ++i) {
    const PacketNote &note = note_of(burst[i], wiring_.note_offset);
    rte_mbuf *&place = window_[note.index % window_packets];
    if (note.index - next_ >= window_packets || place) {
      shared_.set_error({Errc::io, "replay: packet " + std::to_string(note.index) + " came back twice"});
      rte_pktmbuf_free(burst[i]);
      continue;
    }
    if (note.verdict != door)
      shared_.set_error({Errc::io, "replay: packet " + std::to_string(note.index) + " was judged " +
                                       std::string(name_of(note.verdict)) + " and left by the other door"});
    place = burst[i];
  }
  return got;
}

void ReplaySink::write_in_order() {
  std::array<rte_mbuf *, burst_packets_max> written;
  unsigned count = 0;
  const std::uint64_t first = next_;
  while (rte_mbuf *packet = window_[next_ % window_packets]) {
    if (count == written.size()) {
      rte_pktmbuf_free_bulk(written.data(), count);
      count = 0;
    }
    write(packet);
    window_[next_++ % window_packets] = nullptr;
    written[count++] = packet;
  }
  if (next_ == first) return;
  rte_pktmbuf_free_bulk(written.data(), count);
  shared_.last_write.store(ReplayShared::Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  shared_.written.store(next_, std::memory_order_release);
}

void ReplaySink::write(rte_mbuf *packet) {
  const PacketNote &note = note_of(packet, wiring_.note_offset);
  CaptureWriter &file = note.verdict == Verdict::pass ? files_.passed : files_.denied;
  file.begin(note.timestamp_ns, packet->pkt_len, note.original_bytes);
  for (const rte_mbuf *segment = packet; segment; segment = segment->next)
    file.append(rte_pktmbuf_mtod(segment, const void *), segment->data_len);
  if (files_.verdicts) write_verdict(note);
}

void ReplaySink::write_verdict(const PacketNote &note) {
  const std::string_view list =
      note.list == no_slot ? std::string_view() : name_of_list(note.reason, note.list);
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), FMT_COMPILE("{},{},{},{},{}\n"), note.index, note.generation,
                 name_of(note.verdict), name_of(note.reason), list);
  (void)!fwrite_unlocked(line.data(), 1, line.size(), files_.verdicts.get());
}

const std::string &ReplaySink::name_of_list(Reason reason, CounterSlot slot) {
  const std::size_t place = slot.value();
  std::vector<std::string> &names = names_[reason == Reason::rule ? 1 : 0];
  if (names.size() <= place) names.resize(place + 1);
  if (names[place].empty()) names[place] = list_name_(reason, slot);
  return names[place];
}

Status ReplaySink::status() const {
  TRY(files_.passed.status());
  TRY(files_.denied.status());
  if (files_.verdicts && std::ferror(files_.verdicts.get()))
    return fail(Errc::io, "cannot write " + files_.verdicts_name.string() + ": " + std::strerror(errno));
  return {};
}

Status ReplaySink::close() {
  auto passed = files_.passed.close();
  auto denied = files_.denied.close();
  if (!passed) return passed;
  if (!denied) return denied;
  if (!files_.verdicts) return {};
  const bool bad = std::fflush(files_.verdicts.get()) != 0 || std::ferror(files_.verdicts.get());
  files_.verdicts.reset();
  if (bad)
    return fail(Errc::io, "cannot write " + files_.verdicts_name.string() + ": " + std::strerror(errno));
  return {};
}

} // namespace weir::dataplane
