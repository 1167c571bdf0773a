#include "dataplane/packet/samples.hpp"

#include "dataplane/packet/stages.hpp"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <random>
#include <span>
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

[[nodiscard]] wire::Sample sample_of(const Burst &burst, unsigned packet, const Address &address) noexcept {
  const Decision decision = burst.decision(packet);
  wire::Sample sample;
  sample.kind = decision.verdict == Verdict::drop ? wire::SampleKind::denied : wire::SampleKind::passed;
  sample.family = address.family;
  sample.list = decision.list == no_list ? 0 : decision.list;
  sample.address = address.bytes;
  return sample;
}

} // namespace

Sampler::Sampler(WorkerRings rings, std::uint32_t one_in)
    : rings_(rings), one_in_(one_in), until_next_(one_in), salt_(std::random_device()()),
      tick_cycles_(std::max<std::uint64_t>(rte_get_tsc_hz() / SeenLately::ticks_a_second, 1)) {}

void Sampler::expect(const Burst &burst, const JudgeDenials &denials) noexcept {
  if (denials.empty() || rings_.front() == nullptr) return;
  const std::uint64_t salt = burst.image->generation.value() ^ salt_;
  for (std::size_t n = 0; n < denials.size(); ++n) {
    places_[n] = SeenLately::place_of(denials[n], salt);
    seen_.prefetch(places_[n]);
  }
}

void Sampler::take(const Burst &burst, const JudgeDenials &denials, WorkerCounters &counters) noexcept {
  if (rings_.front() == nullptr) return;
  take_some(burst, counters);
  if (!denials.empty()) take_denials(burst, denials, counters);
}

void Sampler::take_some(const Burst &burst, WorkerCounters &counters) noexcept {
  if (until_next_ >= burst.count) {
    until_next_ -= burst.count;
    return;
  }
  for (unsigned i = until_next_; i < burst.count; i += one_in_) {
    until_next_ = i + one_in_;
    if (!burst.parsed_as(i).is_ip() || burst.image == nullptr) continue;
    if (burst.decision(i).reason == Reason::rule) continue; // says nothing of its address
    wire::Sample sample = sample_of(burst, i, judged_first(burst, i));
    if (burst.decision(i).reason == Reason::fallthrough) sample.flags = wire::sample_by_default;
    if ((burst.by_judge >> i & 1) != 0) sample.flags = wire::sample_judged;
    (void)put(SampleSort::traffic, sample, counters);
  }
  until_next_ -= burst.count;
}

void Sampler::take_denials(const Burst &burst, const JudgeDenials &denials,
                           WorkerCounters &counters) noexcept {
  const auto tick = static_cast<std::uint32_t>(rte_rdtsc() / tick_cycles_);
  for (std::size_t n = 0; n < denials.size(); ++n) {
    const bool due = denial_is_due();
    const bool again = seen_.meet(places_[n], tick) == SeenLately::Sight::again;
    if (!due && !again) continue;
    const unsigned packet = denials.place(n);
    wire::Sample sample = sample_of(burst, packet, denied_by_the_judge(burst, packet));
    if (due) take_denial(sample, counters);
    sample.flags = wire::sample_again;
    if (again && put(SampleSort::again, sample, counters)) seen_.told(places_[n]);
  }
}

bool Sampler::denial_is_due() noexcept {
  if (denials_until_next_ == 0) return true;
  --denials_until_next_;
  return false;
}

void Sampler::take_denial(wire::Sample sample, WorkerCounters &counters) noexcept {
  sample.flags = wire::sample_by_stack;
  sample.one_in = denials_one_in_;
  (void)put(SampleSort::denials, sample, counters);
  const unsigned used = rte_ring_count(ring(SampleSort::denials));
  if (used > ring_samples / 2)
    denials_one_in_ = std::min<std::uint16_t>(denials_one_in_ * 2, denials_one_in_max);
  else if (used < ring_samples / 8)
    denials_one_in_ = std::max<std::uint16_t>(denials_one_in_ / 2, 1);
  denials_until_next_ = denials_one_in_ - 1u;
}

void Sampler::offender(std::uint16_t flag, const Address &address, const Traits &traits,
                       WorkerCounters &counters) noexcept {
  if (rings_.front() == nullptr) return;
  wire::Sample sample;
  sample.family = address.family;
  sample.flags = flag;
  sample.one_in = 1;
  sample.address = address.bytes;
  sample.traits = traits.bytes();
  if (flag == wire::sample_offender_other) sample.one_in = others_one_in;
  // A flood of new sources is sampled as far as control keeps up; nothing is lost that anybody waits for.
  if ((flag & wire::sample_offender_met) == 0 &&
      rte_ring_count(ring(SampleSort::offenders)) > ring_samples / 2)
    return;
  (void)put(SampleSort::offenders, sample, counters);
}

bool Sampler::put(SampleSort sort, wire::Sample sample, WorkerCounters &counters) noexcept {
  if (rte_ring_sp_enqueue_elem(ring(sort), &sample, sizeof sample) == 0) return true;
  counters[CounterId::samples_dropped].add(1);
  return false;
}

void SampleRings::Free::operator()(rte_ring *ring) const noexcept { rte_ring_free(ring); }

Result<SampleRings> SampleRings::create(unsigned workers) {
  static std::atomic<unsigned> made{0};
  SampleRings rings;
  for (unsigned i = 0; i < workers; ++i) {
    Rings &of = rings.workers_.emplace_back();
    for (auto &ring : of) {
      const std::string name = "weir_samples_" + std::to_string(made++);
      ring.reset(rte_ring_create_elem(name.c_str(), sizeof(wire::Sample), ring_samples, SOCKET_ID_ANY,
                                      RING_F_SP_ENQ | RING_F_SC_DEQ));
      if (!ring)
        return fail(Errc::no_memory, std::string("cannot make a sample ring: ") + rte_strerror(rte_errno));
      touch(ring.get());
    }
  }
  return rings;
}

WorkerRings SampleRings::of(unsigned worker) const noexcept {
  WorkerRings rings{};
  for (std::size_t sort = 0; sort < sample_sorts; ++sort) rings[sort] = workers_[worker][sort].get();
  return rings;
}

std::vector<wire::Sample> SampleRings::collect(SampleSort sort, std::size_t max) {
  std::vector<wire::Sample> samples(max);
  std::size_t count = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    rte_ring *ring = workers_[(first_ + i) % workers_.size()][static_cast<std::size_t>(sort)].get();
    count += rte_ring_sc_dequeue_burst_elem(ring, samples.data() + count, sizeof(wire::Sample),
                                            static_cast<unsigned>(max - count), nullptr);
  }
  if (!workers_.empty()) first_ = (first_ + 1) % workers_.size();
  samples.resize(count);
  return samples;
}

} // namespace weir::dataplane
