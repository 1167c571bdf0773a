// The contenders of `weir-lab slbf`: each sized by its model, with what the model predicts.
#pragma once

#include "tests/lab/slbf.hpp"
#include "weir/filter/score_groups.hpp"

#include <functional>
#include <span>
#include <variant>

namespace weir::lab {

using AnyStream = std::variant<filter::LearnedBloom, filter::StableGroups, filter::RotatingGroups>;

struct StreamContender {
  std::string name;
  AnyStream filter; // a filter without classifier has one group
  bool learned = false, fills_up = false;
  Errors predicted;
};

// What a pair of Bloom filters behind groups is: rates by likelihood, one turn for all.
struct RotatingPlan {
  std::uint64_t turn = 1;
  std::vector<build::RotatingSetting> groups;
  [[nodiscard]] std::uint64_t bits() const;
};
// With at most `rate` accepted at any time.
[[nodiscard]] RotatingPlan rotating_for(std::span<const build::ScoreGroup> groups, double rate, double turn);

// A cut in two of which the upper half is accepted.
struct OneCut {
  float threshold = 1;
  double rate = 0, told = 1; // what the filter may accept; share of the keys told that it sees
  double value = 0;          // bits a unit of gap, or what is missed
};
[[nodiscard]] OneCut best_cut_for_bits(const ScoredStream &stream, double rate, double bits_a_gap);
[[nodiscard]] OneCut best_cut_for_missed(const ScoredStream &stream, double rate, double missed);

[[nodiscard]] std::vector<float> thresholds_of(const SlbfTask &task, const ScoredStream &stream);

// Errors: usage.
[[nodiscard]] Result<std::vector<StreamContender>>
make_contenders(const SlbfTask &task, const ScoredStream &stream, const SlbfLeast &least);
[[nodiscard]] SlbfLeast least_bits(const SlbfTask &task, const ScoredStream &stream);

} // namespace weir::lab
