#include "dataplane/samples.hpp"

#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace weir::dataplane {
namespace {
constexpr unsigned ring_samples = 4096;

// On ordinary pages EAL's memory comes to be at the first touch: here, not in the middle of a worker's
// burst. Once through the ring touches every place.
void touch(rte_ring *ring) {
  std::vector<wire::Sample> all(ring_samples - 1);
  rte_ring_sp_enqueue_bulk_elem(ring, all.data(), sizeof(wire::Sample), ring_samples - 1, nullptr);
  rte_ring_sc_dequeue_bulk_elem(ring, all.data(), sizeof(wire::Sample), ring_samples - 1, nullptr);
}
} // namespace

void Sampler::take(const Burst &burst, WorkerCounters &counters) noexcept {
  if (ring_ == nullptr) return;
  if (until_next_ >= burst.count) {
    until_next_ -= burst.count;
    return;
  }
  for (unsigned i = until_next_; i < burst.count; i += one_in_) {
    put(burst, i, counters);
    until_next_ = i + one_in_;
  }
  until_next_ -= burst.count;
}

void Sampler::put(const Burst &burst, unsigned packet, WorkerCounters &counters) noexcept {
  const ParsedPacket &parsed = burst.parsed_as(packet);
  const Decision &decision = burst.decisions[packet];
  if (!parsed.is_ip() || burst.image == nullptr) return;
  const Address address =
      address_at(parsed, frame_of(burst.packets[packet]),
                 burst.judges_destination ? parsed.destination_offset : parsed.source_offset);
  wire::Sample sample;
  sample.kind = decision.verdict == Verdict::drop ? wire::SampleKind::denied : wire::SampleKind::passed;
  sample.family = address.family;
  sample.list = decision.list == Decision::no_list ? 0 : decision.list;
  sample.address = address.bytes;
  if (rte_ring_sp_enqueue_elem(ring_, &sample, sizeof sample) != 0) counters.samples_dropped.add(1);
}

void SampleRings::Free::operator()(rte_ring *ring) const noexcept { rte_ring_free(ring); }

Result<SampleRings> SampleRings::create(unsigned workers) {
  static std::atomic<unsigned> made{0};
  SampleRings rings;
  for (unsigned i = 0; i < workers; ++i) {
    const std::string name = "weir_samples_" + std::to_string(made++);
    rings.rings_.emplace_back(rte_ring_create_elem(name.c_str(), sizeof(wire::Sample), ring_samples,
                                                   SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (!rings.rings_.back())
      return fail(Errc::no_memory, std::string("cannot make a sample ring: ") + rte_strerror(rte_errno));
    touch(rings.rings_.back().get());
  }
  return rings;
}

std::vector<wire::Sample> SampleRings::collect(std::size_t max) {
  std::vector<wire::Sample> samples(max);
  std::size_t count = 0;
  for (const auto &ring : rings_)
    count += rte_ring_sc_dequeue_burst_elem(ring.get(), samples.data() + count, sizeof(wire::Sample),
                                            static_cast<unsigned>(max - count), nullptr);
  samples.resize(count);
  return samples;
}

} // namespace weir::dataplane
