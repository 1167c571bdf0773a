// Which front filter and which predictor a table of so many keys gets: a model of what a question
// costs with each of them, from a Calibration, and the choice by it.
//
//   ns = work(option, hits)                      everything in cache
//      + [front filter]  touch(block, filter)    for every question
//      + touch(a; line, table 1)                 the first line; or, chained,
//        touch(a; chained, tables)               the only line, and the predictor's bits [some_touch_ns]
//      + b *             touch(line, table 2)    the second line; inline_bits only; behind a filter touch(b; line, table 2)
//
//   h   share of questions that find a key
//   f   the filter's false positive rate [split_block_bloom_rate]
//   a   share that asks the table: 1, or h + (1 - h) f behind a filter
//   b   h (lines of a hit - 1) + (a - h) (lines of an absent key - 1)          [model.hpp]
//
// Differences of a few percent are below what a model can tell, and an option that adds something
// has to be worth it: of two that are close the plainer one is taken. All of it is arithmetic: the
// same numbers give the same choice.
#pragma once

#include "control/plan/calibration.hpp"
#include "control/plan/model.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::plan {

// Taken when nothing was measured yet.
inline constexpr double hit_ratio_assumed = 0.10;
// What a less plain option has to save; a stack of layers in place of none has to save more: what its questions do to caches and
// branches is predicted less well.
inline constexpr double saving_min = 0.03, stack_saving_min = 0.2;

struct Sizes { // of one table and what stands around it, from its keys alone
  std::uint64_t keys = 0;
  struct Tables {
    std::uint64_t bytes1 = 0, bytes2 = 0;
  };
  Tables inline_bits, chained;                        // under each predictor
  std::uint64_t front_bytes = 0, predictor_bytes = 0; // when there is one
  double front_rate = 0;                              // false positives of the front filter
  ExpectedLines lines;                                // of inline_bits
};
[[nodiscard]] Sizes sizes_of(Family family, std::uint64_t keys);

struct Cost {
  Option option;
  double ns = 0, work_ns = 0, memory_ns = 0;
  double lines = 0, lines_hit = 0, lines_absent = 0; // touched by a question, filter included
  std::uint64_t predictor_bytes = 0, front_bytes = 0;
  bool predictor_in_l2 = true; // half of L2 holds it, or there is none
  bool allowed = true, chosen = false;
  std::string why_not; // of one that was not chosen
};

// Of a question, where such a share of all goes on to a line of table 2. Behind a filter nothing hides what it waits for.
[[nodiscard]] double second_line_ns(double share, bool filtered, std::uint64_t bytes2,
                                    const Calibration &calibration);

[[nodiscard]] Cost cost_of(Family family, const Sizes &sizes, double hit_ratio, Option option,
                           const Calibration &calibration);

struct Question {
  Family family = Family::ipv4;
  std::uint64_t keys = 0;
  double hit_ratio = hit_ratio_assumed;             // share of the questions that find a key, 0 .. 1
  std::span<const Option> candidates = all_options; // those that may be taken
};

struct Answer {
  Option chosen;
  std::vector<Cost> costs; // of each candidate, in the order given
  [[nodiscard]] const Cost &best() const;
};

// Pure. `candidates` has at least one.
[[nodiscard]] Answer choose(const Question &question, const Calibration &calibration);

} // namespace weir::plan
