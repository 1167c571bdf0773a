// Samples that wait to be held against the rules. Packets decide how many come, so there is a bound on those
// that wait and on those that are looked at in a second; the same address is looked at once a batch. What
// is beyond the bounds is left out and counted: an address that keeps sending is sampled again.
#pragma once

#include "weir/base/number.hpp"
#include "weir/key/address.hpp"
#include "weir/wire/messages.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace weir::control {

struct SampleToCheck {
  Address address;
  std::uint16_t flags = 0; // of the sample
  double weight = 1;       // packets that it stands for
  ListId list{};           // that it was counted under
};

struct CheckedAddress {
  Address address;
  std::vector<SampleToCheck> samples; // not empty
  bool denied = false;                // by a file of the rules
};

class SampleQueue {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    std::size_t waiting_max = 16'384, batch_max = 4096; // samples
    double per_second = 100'000;                        // addresses
  };
  SampleQueue() : SampleQueue(Limits{}) {}
  explicit SampleQueue(Limits limits) : limits_(limits), allowed_(limits.per_second) {}

  // False: it is left out. One that a worker met twice goes before the others.
  [[nodiscard]] bool add(const SampleToCheck &sample) {
    const bool first = (sample.flags & wire::sample_again) != 0;
    std::deque<SampleToCheck> &queue = first ? again_ : others_;
    if (queue.size() >= limits_.waiting_max) {
      ++left_out_;
      return false;
    }
    queue.push_back(sample);
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return again_.empty() && others_.empty(); }

  // The next batch by address; empty: nothing waits, or the second has had its share.
  [[nodiscard]] std::vector<CheckedAddress> take(Time now) {
    const std::chrono::duration<double> passed = now - filled_at_;
    allowed_ = std::min(limits_.per_second, allowed_ + passed.count() * limits_.per_second);
    filled_at_ = now;
    std::vector<SampleToCheck> batch;
    const auto most = std::min(limits_.batch_max, static_cast<std::size_t>(std::max(allowed_, 0.0)));
    const auto take_from = [&batch](std::deque<SampleToCheck> &queue, std::size_t until) {
      for (; !queue.empty() && batch.size() < until; queue.pop_front()) batch.push_back(queue.front());
    };
    take_from(again_, most - std::min(most / 4, others_.size()));
    take_from(others_, most);
    take_from(again_, most);
    std::ranges::stable_sort(batch, {}, &SampleToCheck::address);
    std::vector<CheckedAddress> addresses;
    for (const SampleToCheck &sample : batch) {
      if (addresses.empty() || addresses.back().address != sample.address)
        addresses.push_back({.address = sample.address, .samples = {}});
      addresses.back().samples.push_back(sample);
    }
    allowed_ -= static_cast<double>(addresses.size());
    return addresses;
  }

  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

private:
  Limits limits_;
  std::deque<SampleToCheck> again_, others_;
  double allowed_;
  Time filled_at_{};
  std::uint64_t left_out_ = 0;
};

} // namespace weir::control
