// A burst of questions to a range map, in steps between which memory answers:
//
//   ask      questions          -> words    that lead to first lines: cells of IPv4, places of the array of IPv6
//   locate   words              -> lines    once the words have been prefetched
//   probe    lines              -> answers  of most; the lines that the others are led on to are prefetched
//   answer   answers            -> values
//   advance  lines further on   -> values   of some of the rest, one line more; finish: of all of them
//
// One prefetch back to back with the next halves the speed of lines from memory, so probe() prefetches for two
// later bursts while it steps: lines for one that has been located, and words for one that has been asked.
// Most is gained where burst i is probed while lines are prefetched for burst i + 3 and words for burst i + 4,
// and questions that are led on advance by a line a burst (docs/decisions.md):
//
//   bursts[i + 4].ask(kernels, map, questions, count);
//   bursts[i + 3].locate(kernels);
//   bursts[i].probe(kernels, bursts[i + 3], bursts[i + 4]);
//   bursts[i - 1].answer(kernels, values);
//   bursts[i - 1].advance(kernels, values);
//   bursts[i - 2].finish(kernels, values_of_that_burst);
//
// Questions must stay where they are until finish(). A map that changes in place may give a burst answers of
// before or after a change, each answer whole; no grace period ends between ask() and finish().
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

  // `source`: the same questions where they were written longer ago, for loads that are wider than those stores.
  void ask(const Kernels &kernels, const Map &map, const Question *questions, unsigned count,
           const Question *source) noexcept {
    map_ = &map;
    questions_ = questions;
    count_ = count;
    if constexpr (is_v4) {
      points_ = map.has_points();
      kernels.ranges->words_v4(map, source, count, words_.data());
    } else {
      kernels.ranges->words_v6(map, source, count, words_.data());
    }
  }

  void ask(const Kernels &kernels, const Map &map, const Question *questions, unsigned count) noexcept {
    ask(kernels, map, questions, count, questions);
  }

  void locate(const Kernels &kernels) noexcept {
    if constexpr (is_v4)
      kernels.ranges->places_v4(*map_, questions_, count_, lines_.data(), keys_.data());
    else
      kernels.ranges->places_v6(*map_, questions_, words_.data(), count_, lines_.data(), keys_.data());
  }

  // For one burst alone, or the first ones of many.
  void prefetch_words() const noexcept { prefetch_from(words_, 0); }
  void prefetch_lines() const noexcept { prefetch_from(lines_, 0); }

  void probe(const Kernels &kernels) noexcept { probe(kernels, nullptr, nullptr, 0); }
  void probe(const Kernels &kernels, const RangeBurst &located, const RangeBurst &asked) noexcept {
    const unsigned behind = std::min({count_, located.count_, asked.count_});
    probe(kernels, located.lines_.data(), asked.words_.data(), behind);
    located.prefetch_from(located.lines_, behind);
    asked.prefetch_from(asked.words_, behind);
  }

  // values[i]: the table value that answers question i, 0 for none and for those that are led on. At most 64.
  void answer(const Kernels &kernels, std::uint32_t *values) noexcept {
    const auto numbers = points_ ? kernels.ranges->numbers_points : kernels.ranges->numbers;
    numbers(map_->values(), said_.data(), count_, values);
  }
  // One step for each of those that are led on; how many of them still are.
  unsigned advance(const Kernels &kernels, std::uint32_t *values) noexcept {
    if (open_ == 0) return 0;
    if constexpr (is_v4)
      open_ = (points_ ? kernels.ranges->follow_v4_points : kernels.ranges->follow_v4)(
          {open_lines_.data(), open_questions_.data(), open_, keys_.data(), map_->values(), values});
    else
      open_ = kernels.ranges->follow_v6(
          {open_lines_.data(), open_questions_.data(), open_, questions_, map_->values(), values});
    return open_;
  }
  void finish(const Kernels &kernels, std::uint32_t *values) noexcept {
    while (advance(kernels, values) != 0) {
    }
  }

private:
  static constexpr bool is_v4 = std::is_same_v<Map, table::RangeMapV4>;
  using Lines = std::array<const table::RangeLine *, questions_max>;

  void prefetch_from(const auto &pointers, unsigned first) const noexcept {
    for (unsigned i = first; i < count_; ++i) prefetch_line(pointers[i]);
  }

  void probe(const Kernels &kernels, const table::RangeLine *const *lines_behind,
             const void *const *words_behind, unsigned behind) noexcept {
    const auto steps = points_ ? kernels.ranges->steps_points : kernels.ranges->steps;
    const auto on =
        steps({lines_.data(), keys_.data(), count_, lines_behind, words_behind, behind}, said_.data());
    open_ = 0;
    for (std::uint64_t rest = on; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      open_lines_[open_] = lines_[i] + table::lines_ahead(said_[i]);
      open_questions_[open_] = static_cast<std::uint8_t>(i);
      prefetch_line(open_lines_[open_++]);
    }
  }

  const Map *map_ = nullptr;
  bool points_ = false; // of the map
  const Question *questions_ = nullptr;
  unsigned count_ = 0, open_ = 0; // questions; those that are led on
  std::array<const void *, questions_max> words_;
  Lines lines_, open_lines_;
  std::array<std::uint16_t, questions_max> keys_, said_;
  std::array<std::uint8_t, questions_max> open_questions_;
};

} // namespace weir::lookup
