// A burst of questions to a range map, in steps between which memory answers:
//
//   ask      questions          -> words    that lead to first lines: cells of IPv4, places of the array of IPv6
//   locate   words              -> lines    once the words have been prefetched
//   probe    lines              -> what they say of most; the lines that the others are led on to are prefetched
//   finish   lines further on   -> what they say of the rest, a line a pass; values
//
// One prefetch back to back with the next halves the speed of lines from memory, so probe() prefetches for two
// later bursts while it steps: lines for one that has been located, and words for one that has been asked.
// Most is gained where burst i is probed while lines are prefetched for burst i + 2 and words for burst i + 3. A pass over
// questions that are led on costs as much as six of them, since nobody guesses how many are led on again: burst i takes over
// those of the burst ahead, a line further, so that each burst needs half as many passes (docs/decisions.md):
//
//   bursts[i + 3].ask(kernels, map, questions, count);
//   bursts[i + 2].locate(kernels);
//   bursts[i].probe(kernels, bursts[i + 2], bursts[i + 3], &bursts[i - 1]);
//   bursts[i - 1].finish(kernels, values, &bursts[i]);
//
// Questions must stay where they are until finish(), and what a burst has been taken over by must stay as long. A map that changes in
// place may give a burst answers of before or after a change, each answer whole; no grace period ends between ask() and
// finish().
#pragma once

#include "weir/lookup/kernels.hpp"
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace weir::lookup {

template <class Map> class RangeBurst {
public:
  using Question = typename Map::Question;
  static constexpr unsigned questions_max = 64;

  void ask(const Kernels &kernels, const Map &map, const Question *questions, unsigned count) noexcept {
    map_ = &map;
    took_over_ = false;
    questions_ = questions;
    count_ = count;
    if constexpr (is_v4) {
      special_ = map.has_points();
      kernels.ranges->words_v4(map, questions, count, words_.data());
    } else {
      special_ = map.has_wide_lines();
      kernels.ranges->words_v6(map, questions, count, words_.data());
    }
  }

  void locate(const Kernels &kernels) noexcept {
    if constexpr (is_v4)
      kernels.ranges->places_v4(*map_, questions_, words_.data(), count_, lines_.data(), keys_.data());
    else
      kernels.ranges->places_v6(*map_, questions_, words_.data(), count_, lines_.data(), keys_.data());
  }

  // For one burst alone, or the first ones of many.
  void prefetch_words() const noexcept { prefetch_from(words_, 0); }
  void prefetch_lines() const noexcept { prefetch_from(lines_, 0); }

  void probe(const Kernels &kernels) noexcept { probe(kernels, nullptr, nullptr, 0, nullptr); }
  // `located`, `asked`: bursts behind; `ahead`: has been probed and not finished, or null.
  void probe(const Kernels &kernels, const RangeBurst &located, const RangeBurst &asked,
             RangeBurst *ahead = nullptr) noexcept {
    const unsigned behind = std::min({count_, located.count_, asked.count_});
    probe(kernels, located.lines_.data(), asked.words_.data(), behind, ahead);
    located.prefetch_from(located.lines_, behind);
    asked.prefetch_from(asked.words_, behind);
  }
  // After probe(): has this burst what the one ahead had left? It does not take that from a map of the other kind.
  [[nodiscard]] bool took_over() const noexcept { return took_over_; }

  // values[i]: the table value that answers question i, 0 for none. At most 64. `holder`: the burst that has what this one had
  // left, taken over from it or from one that took it over; null where none has.
  void finish(const Kernels &kernels, std::uint32_t *values, RangeBurst *holder = nullptr) noexcept {
    RangeBurst &last = holder != nullptr ? *holder : *this;
    while (last.has_some_of(*this)) last.advance(kernels);
    const auto numbers = has_points() ? kernels.ranges->numbers_points : kernels.ranges->numbers;
    numbers(map_->values(), said_.data(), count_, values);
  }

private:
  static constexpr bool is_v4 = std::is_same_v<Map, table::RangeMapV4>;
  using Open = RangeOpen<std::conditional_t<is_v4, std::uint16_t, table::KeyV6>>; // those that are led on
  using Lines = std::array<const table::RangeLine *, questions_max>;

  [[nodiscard]] bool has_points() const noexcept { return is_v4 && special_; }

  void prefetch_from(const auto &pointers, unsigned first) const noexcept {
    for (unsigned i = first; i < count_; ++i) prefetch_line(pointers[i]);
  }

  void probe(const Kernels &kernels, const table::RangeLine *const *lines_behind,
             const void *const *words_behind, unsigned behind, RangeBurst *ahead) noexcept {
    open_ = turn_ = 0;
    if (ahead != nullptr) take_over(kernels, *ahead);
    const auto on = steps_of(kernels)(
        {lines_.data(), keys_.data(), count_, lines_behind, words_behind, behind}, said_.data());
    Open &open = open_of_[0];
    for (std::uint64_t rest = on; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      open.lines[open_] = lines_[i] + table::lines_ahead(said_[i]);
      if constexpr (is_v4)
        open.keys[open_] = &keys_[i];
      else
        open.keys[open_] = &questions_[i];
      open.said[open_] = &said_[i];
      prefetch_line(open.lines[open_++]);
    }
  }

  [[nodiscard]] auto steps_of(const Kernels &kernels) const noexcept {
    if constexpr (is_v4)
      return special_ ? kernels.ranges->steps_v4_points : kernels.ranges->steps_v4;
    else
      return kernels.ranges->steps_v6;
  }
  // One step for each of those that are led on.
  [[nodiscard]] unsigned follow(const Kernels &kernels, const Open &now, unsigned count,
                                Open &next) const noexcept {
    if (count == 0) return 0;
    if constexpr (is_v4)
      return (special_ ? kernels.ranges->follow_v4_points : kernels.ranges->follow_v4)(now, count, next);
    else
      return (special_ ? kernels.ranges->follow_v6_wide : kernels.ranges->follow_v6)(now, count, next);
  }
  void advance(const Kernels &kernels) noexcept {
    open_ = follow(kernels, open_of_[turn_], open_, open_of_[1 - turn_]);
    turn_ = 1 - turn_;
  }
  // What another burst has left, a step further. Room for all own questions is kept.
  void take_over(const Kernels &kernels, RangeBurst &from) noexcept {
    took_over_ = from.special_ == special_;
    if (!took_over_) return;
    while (from.open_ > Open::max - questions_max) from.advance(kernels);
    open_ = follow(kernels, from.open_of_[from.turn_], from.open_, open_of_[0]);
    from.open_ = 0;
  }
  // Those of the oldest burst come first.
  [[nodiscard]] bool has_some_of(const RangeBurst &other) const noexcept {
    return open_ != 0 && reinterpret_cast<std::uintptr_t>(open_of_[turn_].said[0]) -
                                 reinterpret_cast<std::uintptr_t>(other.said_.data()) <
                             sizeof other.said_;
  }

  const Map *map_ = nullptr;
  bool special_ = false; // the map has points, or wide lines
  bool took_over_ = false;
  const Question *questions_ = nullptr;
  unsigned count_ = 0, open_ = 0; // questions; open_of_[turn_]
  std::array<const void *, questions_max> words_;
  Lines lines_;
  std::array<typename Map::Key, questions_max> keys_;
  std::array<std::uint16_t, questions_max> said_;
  std::array<Open, 2> open_of_; // now and next, in turns
  unsigned turn_ = 0;
};

} // namespace weir::lookup
