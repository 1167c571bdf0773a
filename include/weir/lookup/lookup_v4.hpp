// The IPv4 questions of a burst. Where prefixes stand in a range map, its signs say whether a question has hosts in
// its /16, for which the table is asked, and prefixes, for which the map is. Without one the length map says at which
// lengths a question is asked: one cell a /16 has the lengths from 17 to 32 in use below it, and the value of the
// longest prefix up to /16 that covers it.
//
// A side with hosts alone does not look at its cells. Where nearly every cell has hosts, all questions ask
// for a host, as one array; a few cells that have more to say are prefetched, and read when the burst ahead
// has probed.
#pragma once

#include "weir/lookup/family_lookup.hpp"

namespace weir::lookup {

class LookupV4 : public FamilyLookup<table::LineV4> {
public:
  void aim(BurstState &burst, Side side, Targets &targets) noexcept {
    if (burst.waits(side)) return answer_all(burst, side, 0);
    if (!ranges(burst, side).empty()) return aim_with_ranges(burst, side, targets);
    const table::LengthMapV4 &map = burst.view->lengths_v4[side];
    default_[side] = table::read_acquire(*map.default_value);
    const std::uint32_t lengths = map.lengths();
    if (lengths == 0) return answer_all(burst, side, default_[side]);
    busy_[side] = true;
    uniform_[side].reset();
    batches_[side].clear();
    covered_[side].clear();
    read_all_cells_[side] = false;
    if (lengths == table::only_hosts)
      add_hosts(burst, side, [&] { return burst.kernels->signs(map.signs, keys_, asked_).hosts; });
    else
      look_into_cells(burst, side);
    locate(burst, side, targets);
  }

  [[nodiscard]] bool has_late_cells() const noexcept {
    return (late_[Side::deny].questions | late_[Side::allow].questions) != 0;
  }
  void read_late_cells(BurstState &burst) noexcept {
    for (const Side side : both_sides) {
      Late &late = late_[side];
      if (late.questions == 0) continue;
      for (; late.questions != 0; late.questions &= late.questions - 1) {
        const auto q = static_cast<unsigned>(std::countr_zero(late.questions));
        const std::uint64_t cell = burst.view->lengths_v4[side].cell(keys_[q]);
        const table::CellAnswer known = table::ask_cell(cell, keys_[q]);
        covered_[side].add(q, known.value);
        add_lengths(burst, side, q, known.lengths & late.wanted);
      }
      Targets targets;
      locate_from(late.first_batch, burst, side, targets);
      targets.prefetch_rest();
    }
  }

  void finish(BurstState &burst, Side side, FamilyLookup *holder) noexcept {
    if (!ranges(burst, side).empty()) return finish_beside_ranges(burst, side, holder);
    std::uint32_t *const answers = this->answers(burst, side);
    collect(burst, side);
    tally_filters(burst, side);
    covered_[side].give(answers);
    if (read_all_cells_[side]) burst.kernels->or_else(answers, short_[side].data(), asked_);
    if (default_[side] == 0) return;
    for (unsigned q = 0; q < asked_; ++q)
      if (answers[q] == 0) answers[q] = default_[side];
  }

private:
  void aim_with_ranges(BurstState &burst, Side side, Targets &targets) noexcept {
    const table::RangeMapV4 &map = burst.view->ranges_v4[side];
    const std::uint32_t in_use = map.in_use();
    if (in_use == 0) return answer_all(burst, side, map.value(0));
    std::uint64_t hosts = (in_use & table::range_hosts) != 0 ? all_questions() : 0;
    std::uint64_t prefixes = (in_use & table::range_prefixes) != 0 ? all_questions() : 0;
    if (asks_signs(burst, side, in_use)) {
      const CellSigns signs = burst.kernels->signs(map.signs(), keys_, asked_);
      hosts &= signs.hosts;
      prefixes &= signs.more;
      if ((hosts | prefixes) == 0) return answer_all(burst, side, map.value(0));
    }
    if (side == Side::deny && may_be_short_ && are_most(hosts)) {
      way_ = Way::hosts;
      aim_hosts(burst, targets);
      if (prefixes == 0) return;
      way_ = Way::both;
      return aim_prefixes(burst, prefixes);
    }
    aim_beside_ranges(burst, side, hosts, prefixes, targets);
  }
  // Most allow lists are short, and most bursts ask them nothing. A filter in front of a long one is told of every question.
  [[nodiscard]] static bool asks_signs(const BurstState &burst, Side side, std::uint32_t in_use) noexcept {
    if (side == Side::allow && !burst.filter_first(side)) return true;
    return (in_use & table::range_hosts) != 0 &&
           ((in_use & table::range_prefixes) != 0 || burst.view->judges_hosts(side));
  }

  // The values of prefixes up to /16 that cover questions, for those that no probe answers.
  class Covered {
  public:
    void clear() noexcept { count_ = 0; }
    void add(unsigned question, std::uint32_t value) noexcept {
      question_[count_] = static_cast<std::uint8_t>(question);
      value_[count_] = value;
      count_ += value != 0;
    }
    void give(std::uint32_t *answers) const noexcept {
      for (unsigned n = 0; n < count_; ++n) {
        std::uint32_t &answer = answers[question_[n]];
        if (answer == 0) answer = value_[n];
      }
    }

  private:
    unsigned count_ = 0;
    std::array<std::uint8_t, questions_max> question_;
    std::array<std::uint32_t, questions_max> value_;
  };

  static constexpr int late_cells_max = 16; // with more, all lines are read in turn
  struct Late {                             // questions whose cells are prefetched, and where their probes go
    std::uint64_t questions = 0;
    std::uint32_t wanted = 0; // lengths
    unsigned first_batch = 0;
  };

  // One probe for each length from 17 to 32 in use below an address; what its cell says itself waits
  // until they have answered.
  void look_into_cells(BurstState &burst, Side side) noexcept {
    const table::LengthMapV4 &map = burst.view->lengths_v4[side];
    const CellSigns signs = burst.kernels->signs(map.signs, keys_, asked_);
    const bool as_hosts = are_most(signs.hosts);
    if (as_hosts)
      add_hosts(burst, side, [&] { return signs.hosts; }); // its probes set every answer
    else
      std::fill_n(answers(burst, side), asked_, 0);
    const std::uint64_t some = as_hosts ? signs.more : signs.more | signs.hosts;
    const std::uint32_t wanted = as_hosts ? ~table::hosts_below : ~std::uint32_t{0};
    if (burst.filter_first(side) || std::popcount(some) > late_cells_max)
      return read_all_cells(burst, side, some, wanted);
    late_[side] = {some, wanted, as_hosts ? 1u : 0u};
    for (std::uint64_t rest = some; rest != 0; rest &= rest - 1)
      __builtin_prefetch(&map.cells[table::LengthMapV4::index(keys_[std::countr_zero(rest)])]);
  }

  // Every question asks for a host. A table knows where there are none; a filter that judges is to be asked
  // about addresses alone that have hosts below their /16, whatever the burst.
  void add_hosts(BurstState &burst, Side side, const auto &hosts_below_them) noexcept {
    batches_[side].add_all(keys_, asked_, burst.view->flips_v4[32], 32);
    if (burst.view->judges_hosts(side)) batches_[side].judge_only(hosts_below_them());
  }

  // All at once; some of the questions have probes of the lengths in `wanted`.
  void read_all_cells(BurstState &burst, Side side, std::uint64_t some, std::uint32_t wanted) noexcept {
    alignas(64) std::array<std::uint32_t, questions_max> lengths;
    burst.kernels->cells(burst.view->lengths_v4[side].cells, keys_, asked_, short_[side].data(),
                         lengths.data());
    read_all_cells_[side] = true;
    for (; some != 0; some &= some - 1) {
      const auto q = static_cast<unsigned>(std::countr_zero(some));
      add_lengths(burst, side, q, lengths[q] & wanted);
    }
  }

  void add_lengths(const BurstState &burst, Side side, unsigned q, std::uint32_t lengths) noexcept {
    for (; lengths != 0; lengths &= lengths - 1) {
      const unsigned length = static_cast<unsigned>(std::countr_zero(lengths)) + table::short_length_max + 1;
      batches_[side].add(keys_[q] & wire_mask_v4(length), burst.view->flips_v4[length], length, q);
    }
  }

  PerSide<std::uint32_t> default_{}; // of the side: the value of /0
  PerSide<Late> late_{};
  PerSide<bool> read_all_cells_{}; // short_ is set
  alignas(64) PerSide<std::array<std::uint32_t, questions_max>> short_{};
  PerSide<Covered> covered_;
};

} // namespace weir::lookup
