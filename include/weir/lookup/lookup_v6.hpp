// The IPv6 questions of a burst. Where prefixes stand in a range map it is asked beside the table of hosts. Without
// one each question is asked at every length in use on a side. With more probes than there
// is room for they are answered one at a time, with the same result.
#pragma once

#include "weir/image/reader.hpp"
#include "weir/lookup/family_lookup.hpp"

namespace weir::lookup {

class LookupV6 : public FamilyLookup<table::LineV6> {
public:
  void aim(BurstState &burst, Side side, Targets &targets) noexcept {
    if (!ranges(burst, side).empty()) return aim_with_ranges(burst, side, targets);
    const table::LengthsV6 &in_use = burst.view->lengths_v6[side];
    auto &batches = batches_[side];
    batches.clear();
    crowded_[side] = false;
    if (in_use.none() || burst.waits(side)) {
      std::fill_n(answers(burst, side), asked_, 0);
      return;
    }
    uniform_[side].reset();
    busy_[side] = true;
    if (in_use.only_hosts()) {
      batches.add_all(keys_, asked_, burst.view->seeds_v6[128], 128);
      return locate(burst, side, targets);
    }
    std::fill_n(answers(burst, side), asked_, 0);
    for (unsigned w = 0; w < 3; ++w) {
      for (std::uint64_t rest = in_use.word(w); rest != 0; rest &= rest - 1) {
        if (!batches.has_room_for(asked_)) {
          crowded_[side] = true;
          batches.clear();
          return;
        }
        add_length(burst, side, w * 64 + static_cast<unsigned>(std::countr_zero(rest)));
      }
    }
    locate(burst, side, targets);
  }

  void finish(BurstState &burst, Side side, FamilyLookup *holder) noexcept {
    if (!ranges(burst, side).empty()) return finish_beside_ranges(burst, side, holder);
    collect(burst, side);
    if (!crowded_[side]) return tally_filters(burst, side);
    for (unsigned q = 0; q < asked_; ++q)
      answers(burst, side)[q] = image::lookup_v6(*burst.view, side, &keys_[q]);
  }

private:
  void aim_with_ranges(BurstState &burst, Side side, Targets &targets) noexcept {
    if (burst.waits(side)) return answer_all(burst, side, 0);
    const table::RangeMapV6 &map = burst.view->ranges_v6[side];
    const std::uint32_t in_use = map.in_use();
    if (in_use == 0) return answer_all(burst, side, map.value(0));
    const std::uint64_t hosts = (in_use & table::range_hosts) != 0
                                    ? burst.kernels->ranges->may_have_hosts(map.host_marks(), keys_, asked_)
                                    : 0;
    aim_beside_ranges(burst, side, hosts, (in_use & table::range_prefixes) != 0 ? all_questions() : 0,
                      targets);
  }

  void add_length(const BurstState &burst, Side side, unsigned length) noexcept {
    const table::KeyV6 mask = table::key_mask_v6(length);
    for (unsigned q = 0; q < asked_; ++q) {
      const table::KeyV6 &whole = keys_[q];
      batches_[side].add({whole.low & mask.low, whole.high & mask.high}, burst.view->seeds_v6[length], length,
                         q);
    }
  }

  PerSide<bool> crowded_{};
};

} // namespace weir::lookup
