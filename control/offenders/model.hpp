// A trained classifier of offenders: the trees, what they were trained with, and what came of it. The bytes of trees and
// neighbours never change once it is made, or scores would, and keys of the dataplane's memory be missed.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/score_groups_model.hpp"
#include "weir/key/offender.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::offenders {

struct Model {
  std::uint64_t number = 0, trained_at = 0; // of the training, from 1; seconds since the epoch
  OffenderElement element{};
  std::uint64_t told = 0, others = 0; // samples
  double auc = 0;                     // on samples that the training did not have
  std::vector<float> thresholds;      // of margins, one fewer than groups
  std::vector<build::ScoreGroup> groups;
  std::vector<double> gains; // by feature, shares: what it looks at
  std::vector<std::byte> neighbours, trees;
};

// As a note of the store; errors of decode(): parse, with what is wrong.
[[nodiscard]] std::string encode(const Model &model);
[[nodiscard]] Result<Model> decode(std::string_view text);

} // namespace weir::offenders
