// A look at the traffic for the control plane, of four kinds. Each has a ring of its own in each worker and
// a share of its own of what control is told, so that no flood of one kind drowns another. A full ring drops
// samples and counts them; packets never wait.
//
//   traffic   every n-th packet's judged address
//   denials   of what a filter denies on its word alone: how often it errs. Each of them while the ring is
//             nearly empty, fewer the fuller it is, none beyond one in `denials_one_in_max`; each says
//             how many it stands for
//   offenders what the memory of offenders was told, was asked about (one in 32 of what it did not know) and met
//   again     of the same packets: addresses that come a second time, each once in a few seconds
//             (seen_lately.hpp). A source that is denied in error and keeps sending is among them, whatever
//             is spoofed beside it once
#pragma once

#include "dataplane/packet/burst.hpp"
#include "dataplane/packet/sample_sort.hpp"
#include "dataplane/packet/stages.hpp"
#include "dataplane/sources/seen_lately.hpp"
#include "weir/base/result.hpp"
#include "weir/key/traits.hpp"
#include "weir/wire/messages.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::dataplane {

// The worker's end.
class Sampler {
public:
  Sampler(WorkerRings rings, std::uint32_t one_in);
  // What a judge denied, some time before take(): prefetches what that will ask.
  void expect(const Burst &burst, const JudgeDenials &denials) noexcept;
  // The packets of a burst that has been judged.
  void take(const Burst &burst, const JudgeDenials &denials, WorkerCounters &counters) noexcept;

  // Is the next packet that no memory knows to be sampled, as sample_offender_other?
  [[nodiscard]] bool other_is_due() noexcept {
    if (others_until_next_ == 0) {
      others_until_next_ = others_one_in - 1;
      return true;
    }
    --others_until_next_;
    return false;
  }
  // `flag`: sample_offender_...
  void offender(std::uint16_t flag, const Address &address, const Traits &traits,
                WorkerCounters &counters) noexcept;

private:
  static constexpr std::uint16_t denials_one_in_max = 1024;
  static constexpr std::uint32_t others_one_in = 32;

  void take_some(const Burst &burst, WorkerCounters &counters) noexcept;
  void take_denials(const Burst &burst, const JudgeDenials &denials, WorkerCounters &counters) noexcept;
  [[nodiscard]] bool denial_is_due() noexcept;
  void take_denial(wire::Sample sample, WorkerCounters &counters) noexcept;
  [[nodiscard]] bool put(SampleSort sort, wire::Sample sample, WorkerCounters &counters) noexcept;
  [[nodiscard]] rte_ring *ring(SampleSort sort) const noexcept {
    return rings_[static_cast<std::size_t>(sort)];
  }

  WorkerRings rings_;
  SeenLately seen_;
  std::array<SeenLately::Place, burst_packets_max> places_; // of the denials that are expected
  std::uint32_t one_in_;
  std::uint32_t until_next_; // packets to skip
  std::uint16_t denials_one_in_ = 1;
  std::uint32_t denials_until_next_ = 0; // to skip
  std::uint32_t others_until_next_ = 0;  // to skip
  std::uint64_t salt_; // of this process: nobody outside knows which addresses share a place
  std::uint64_t tick_cycles_;
};

// The service thread's end.
class SampleRings {
public:
  [[nodiscard]] static Result<SampleRings> create(unsigned workers);
  [[nodiscard]] WorkerRings of(unsigned worker) const noexcept;
  // Takes up to `max` samples of a sort from all workers.
  [[nodiscard]] std::vector<wire::Sample> collect(SampleSort sort, std::size_t max);

private:
  struct Free {
    void operator()(rte_ring *ring) const noexcept;
  };
  using Rings = std::array<std::unique_ptr<rte_ring, Free>, sample_sorts>;
  std::vector<Rings> workers_;
  std::size_t first_ = 0; // worker to begin with: each in turn, so that a busy one leaves room for the others
};

} // namespace weir::dataplane
