#include "dataplane/replay/replay_source.hpp"

#include <algorithm>
#include <cstring>

namespace weir::dataplane {
namespace {

// Gates in order of their index; a gate that asks for less than one before it asks for nothing.
std::vector<ReplayGate> sorted(std::vector<ReplayGate> gates) {
  std::ranges::stable_sort(gates, {}, &ReplayGate::index);
  Generation highest;
  for (ReplayGate &gate : gates) gate.generation = highest = std::max(highest, gate.generation);
  return gates;
}

} // namespace

ReplaySource::ReplaySource(CaptureReader reader, const ReplayOptions &options, Wiring wiring,
                           ReplayShared &shared)
    : reader_(std::move(reader)), loops_(options.loops), rate_pps_(options.rate_pps),
      gates_(sorted(options.gates)), wiring_(wiring), shared_(shared) {}

bool ReplaySource::stopping() const noexcept {
  return shared_.stop.load(std::memory_order_relaxed) || shared_.failed.load(std::memory_order_relaxed);
}

void ReplaySource::run() {
  if (auto played = play(); !played) shared_.set_error(std::move(played.error()));
  flush();
  if (spare_count_ > 0) rte_pktmbuf_free_bulk(spare_.data(), spare_count_);
  spare_count_ = 0;
  shared_.source_done.store(true, std::memory_order_release);
}

Status ReplaySource::play() {
  const ReplayGate start{.index = 0, .generation = 1}; // also for a capture without packets
  gates_.insert(gates_.begin(), start);
  if (!wait_for_generation()) return {};
  rate_origin_ = Clock::now();
  shared_.first_release.store(rate_origin_.time_since_epoch().count(), std::memory_order_relaxed);

  for (std::uint64_t round = 0; round < loops_; ++round) {
    if (round > 0) TRY(reader_.rewind());
    for (;;) {
      CapturedPacket packet;
      const auto next = TRY(reader_.next(packet));
      if (next == CaptureReader::Next::cut) shared_.truncated.store(true, std::memory_order_relaxed);
      if (next != CaptureReader::Next::packet) break;
      if (!release(packet)) return {};
    }
  }
  shared_.eof.store(true, std::memory_order_release);
  return {};
}

// False: stopped, and this packet was not taken.
bool ReplaySource::release(const CapturedPacket &packet) {
  if (stopping()) return false;
  if (next_gate_ < gates_.size() && gates_[next_gate_].index <= index_ && !wait_for_generation())
    return false;
  if (rate_pps_ > 0 && !wait_for_turn()) return false;
  rte_mbuf *chain = to_chain(packet);
  if (!chain) return false;
  burst_[burst_packets_++] = chain;
  ++index_;
  if (burst_packets_ == burst_packets_max) flush();
  return true;
}

// Waits at every gate that stands before the next packet. What went before must not wait with it.
bool ReplaySource::wait_for_generation() {
  flush();
  for (; next_gate_ < gates_.size() && gates_[next_gate_].index <= index_; ++next_gate_) {
    bool waited = false;
    while (shared_.live_generation.load(std::memory_order_acquire) < gates_[next_gate_].generation) {
      if (stopping()) return false;
      waited = true;
      replay_pause();
    }
    if (!waited) continue;
    rate_origin_ = Clock::now(); // time spent at a gate is not caught up
    rate_origin_index_ = index_;
  }
  return true;
}

bool ReplaySource::wait_for_turn() {
  const auto turn = [&] {
    const double seconds = static_cast<double>(index_ - rate_origin_index_) / static_cast<double>(rate_pps_);
    return rate_origin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }();
  if (Clock::now() >= turn) return true;
  flush();
  while (Clock::now() < turn) {
    if (stopping()) return false;
    const auto left = turn - Clock::now();
    std::this_thread::sleep_for(std::min<Clock::duration>(left, std::chrono::milliseconds(20)));
  }
  return true;
}

// Makes sure that `count` spare mbufs are there; an empty pool fills as the sink writes.
bool ReplaySource::take_segments(unsigned count) {
  while (spare_count_ < count) {
    if (rte_pktmbuf_alloc_bulk(wiring_.pool, spare_.data() + spare_count_, segments_max - spare_count_) ==
        0) {
      spare_count_ = segments_max;
      return true;
    }
    flush();
    if (stopping()) return false;
    replay_pause();
  }
  return true;
}

rte_mbuf *ReplaySource::to_chain(const CapturedPacket &packet) {
  const auto bytes = static_cast<std::uint32_t>(packet.bytes.size());
  const unsigned count = std::max(1u, (bytes + ReplayPort::segment_bytes - 1) / ReplayPort::segment_bytes);
  if (!take_segments(count)) return nullptr;

  rte_mbuf *head = nullptr;
  rte_mbuf **link = &head;
  std::uint32_t done = 0;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf *segment = spare_[--spare_count_];
    const std::uint32_t part = std::min<std::uint32_t>(bytes - done, ReplayPort::segment_bytes);
    if (part > 0) std::memcpy(rte_pktmbuf_mtod(segment, void *), packet.bytes.data() + done, part);
    segment->data_len = static_cast<std::uint16_t>(part);
    done += part;
    *link = segment;
    link = &segment->next;
  }
  head->nb_segs = static_cast<std::uint16_t>(count);
  head->pkt_len = bytes;
  note_of(head, wiring_.note_offset) = PacketNote{
      .index = index_, .timestamp_ns = packet.timestamp_ns, .original_bytes = packet.original_bytes};
  return head;
}

void ReplaySource::flush() {
  // Counted first: nobody may see a packet written that was not read.
  shared_.read.fetch_add(burst_packets_, std::memory_order_release);
  for (unsigned sent = 0; sent < burst_packets_;) {
    sent += rte_ring_sp_enqueue_burst(wiring_.out, reinterpret_cast<void **>(burst_.data() + sent),
                                      burst_packets_ - sent, nullptr);
    if (sent < burst_packets_) replay_pause();
  }
  burst_packets_ = 0;
}

} // namespace weir::dataplane
