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
    BurstLookup *const first = bursts_.get(), *const last = first + BurstLookup::in_flight(view) - 1;
    const auto behind = [=](BurstLookup *burst) { return burst == last ? first : burst + 1; };
    BurstLookup *newest = last, *oldest = first;
    std::size_t taken = 0;
    const auto finish = [&] {
      oldest->finish();
      take(*oldest, taken++);
      oldest = behind(oldest);
    };
    for (std::size_t i = 0; i < bursts; ++i) {
      BurstLookup *const ahead = newest;
      newest = behind(newest);
      newest->begin(view, kernels);
      ask(*newest, i);
      if (i == 0)
        newest->send();
      else
        newest->send_behind(*ahead);
      if (newest == last || taken != 0) finish(); // all places are taken, from the first full round on
    }
    if (bursts != 0) newest->probe_first();
    while (taken < bursts) finish();
  }

private:
  std::unique_ptr<BurstLookup[]> bursts_ = std::make_unique<BurstLookup[]>(BurstLookup::in_flight_max);
};

} // namespace weir::lookup
