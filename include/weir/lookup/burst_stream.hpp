// Bursts of questions to one image, one after the other, as a worker has them under way.
//
//   BurstStream stream;
//   stream.run(view, kernels, bursts, [&](BurstLookup &burst, std::size_t i) { burst.ask_all_v4(...); },
//              [&](BurstLookup &burst, std::size_t i) { burst.deny_v4()... });
#pragma once

#include "weir/lookup/burst_lookup.hpp"

#include <cstddef>
#include <memory>

namespace weir::lookup {

class BurstStream {
public:
  // ask() asks the questions of burst i, take() reads its answers; both in the order of the bursts.
  template <class Ask, class Take>
  void run(const image::ImageView &view, const Kernels &kernels, std::size_t bursts, Ask ask, Take take) {
    const unsigned in_flight = BurstLookup::in_flight(view);
    const auto at = [&](std::size_t i) -> BurstLookup & { return bursts_[i % in_flight]; };
    std::size_t taken = 0;
    const auto finish = [&](std::size_t i) {
      at(i).finish();
      take(at(i), i);
    };
    for (std::size_t i = 0; i < bursts; ++i) {
      at(i).begin(view, kernels);
      ask(at(i), i);
      if (i == 0)
        at(i).send();
      else
        at(i).send_behind(at(i - 1));
      if (i + 1 - taken == in_flight) finish(taken++);
    }
    if (bursts != 0) at(bursts - 1).probe_first();
    while (taken < bursts) finish(taken++);
  }

private:
  std::unique_ptr<BurstLookup[]> bursts_ = std::make_unique<BurstLookup[]>(BurstLookup::in_flight_max);
};

} // namespace weir::lookup
