#include "tests/lab/learned_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace weir::lab {

learn::Samples training_of(const LearnableSet &set, std::size_t members, std::size_t others) {
  learn::Samples samples{.features = set.members.samples.features, .bytes = {}, .labels = {}};
  const auto add = [&samples](const LearnableKeys &keys, std::size_t count, std::uint8_t label) {
    const auto bytes = std::span(keys.samples.bytes).first(count * samples.features);
    samples.bytes.insert(samples.bytes.end(), bytes.begin(), bytes.end());
    samples.labels.resize(samples.labels.size() + count, label);
  };
  add(set.members, members, 1);
  add(set.others, others, 0);
  return samples;
}

float threshold_for(std::vector<float> margins, std::size_t allowed) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  if (allowed >= margins.size()) return -infinite;
  const auto last =
      margins.begin() + static_cast<std::ptrdiff_t>(allowed); // the first that must not reach it
  std::ranges::nth_element(margins, last, std::greater{});
  return std::nextafter(*last, infinite);
}

Sorted sort_by(std::span<const KeyHash> keys, std::span<const float> margins, float threshold) {
  Sorted out;
  for (std::size_t i = 0; i < keys.size(); ++i)
    (margins[i] >= threshold ? out.accepted : out.left).push_back(keys[i]);
  return out;
}

} // namespace weir::lab
