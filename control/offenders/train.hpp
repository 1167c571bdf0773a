// From samples to a model: boosted trees by XGBoost over the features of elements (image/offenders.hpp).
#pragma once

#include "control/offenders/model.hpp"
#include "control/offenders/training_set.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::offenders {

inline constexpr std::size_t samples_least = 500; // of either side
inline constexpr double auc_least = 0.6;          // below, groups would save nothing worth the trees

struct TrainingTask {
  OffenderElement element{};
  unsigned groups = 6; // of equal width in probability; 0: as many as keep p falling and q rising
  std::vector<Element> told, others;
  std::vector<std::byte> neighbours;
  std::uint64_t seed = 1, number = 1, now_s = 0;
  unsigned trees = 64, depth = 4;
};

// A fifth of the samples is held back, to measure the AUC and the shares of groups with. Errors: refused, with what is missing
// or how little could be learned; those of XGBoost.
[[nodiscard]] Result<Model> train(const TrainingTask &task);

} // namespace weir::offenders
