// A burst of questions to a range map, in steps between which memory answers:
//
//   ask      questions          -> words    that lead to first lines: cells of IPv4, places of the array of IPv6
//   locate   words              -> lines    once the words have been prefetched
//   probe    lines              -> what they say of most; the lines that the others are led on to are prefetched
//   advance  lines further on   -> what they say of some of the rest, one line more
//   finish   lines further on   -> what they say of all of the rest; values
//
// One prefetch back to back with the next halves the speed of lines from memory, so probe() prefetches for two
// later bursts while it steps: lines for one that has been located, and words for one that has been asked.
// Most is gained where burst i is probed while lines are prefetched for burst i + 3 and words for burst i + 4,
// and questions that are led on advance by a line a burst (docs/decisions.md):
//
//   bursts[i + 4].ask(kernels, map, questions, count);
//   bursts[i + 3].locate(kernels);
//   bursts[i].probe(kernels, bursts[i + 3], bursts[i + 4]);
//   bursts[i - 1].advance(kernels);
//   bursts[i - 2].finish(kernels, values);
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

  void ask(const Kernels &kernels, const Map &map, const Question *questions, unsigned count) noexcept {
    map_ = &map;
    questions_ = questions;
    count_ = count;
    if constexpr (is_v4) {
      points_ = map.has_points();
      kernels.ranges->words_v4(map, questions, count, words_.data());
    } else {
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

  void probe(const Kernels &kernels) noexcept { probe(kernels, nullptr, nullptr, 0); }
  void probe(const Kernels &kernels, const RangeBurst &located, const RangeBurst &asked) noexcept {
    const unsigned behind = std::min({count_, located.count_, asked.count_});
    probe(kernels, located.lines_.data(), asked.words_.data(), behind);
    located.prefetch_from(located.lines_, behind);
    asked.prefetch_from(asked.words_, behind);
  }

  // One step for each of those that are led on; how many of them still are.
  unsigned advance(const Kernels &kernels) noexcept {
    if (open_ == 0) return 0;
    const Open &now = open_of_[turn_];
    turn_ = 1 - turn_;
    Open &next = open_of_[turn_];
    const auto follow = [&](auto step, const auto *keys) {
      return step({now.lines.data(), now.questions.data(), open_, keys, said_.data(), next.lines.data(),
                   next.questions.data()});
    };
    if constexpr (is_v4)
      open_ = follow(points_ ? kernels.ranges->follow_v4_points : kernels.ranges->follow_v4, keys_.data());
    else
      open_ = follow(kernels.ranges->follow_v6, questions_);
    return open_;
  }
  // values[i]: the table value that answers question i, 0 for none. At most 64.
  void finish(const Kernels &kernels, std::uint32_t *values) noexcept {
    while (advance(kernels) != 0) {
    }
    const auto numbers = points_ ? kernels.ranges->numbers_points : kernels.ranges->numbers;
    numbers(map_->values(), said_.data(), count_, values);
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
    open_ = turn_ = 0;
    Open &open = open_of_[0];
    for (std::uint64_t rest = on; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      open.lines[open_] = lines_[i] + table::lines_ahead(said_[i]);
      open.questions[open_] = static_cast<std::uint8_t>(i);
      prefetch_line(open.lines[open_++]);
    }
  }

  const Map *map_ = nullptr;
  bool points_ = false; // of the map
  const Question *questions_ = nullptr;
  unsigned count_ = 0, open_ = 0; // questions; open_of_[turn_]
  std::array<const void *, questions_max> words_;
  Lines lines_;
  std::array<std::uint16_t, questions_max> keys_, said_;
  struct Open { // those that are led on
    Lines lines;
    std::array<std::uint8_t, questions_max> questions;
  };
  std::array<Open, 2> open_of_; // now and next, in turns
  unsigned turn_ = 0;
};

} // namespace weir::lookup
