// A learned Bloom filter and its choices: how many trees, which threshold, how much of the bits for which.
#pragma once

#include "tests/lab/learned_model.hpp"
#include "weir/filter/bloom.hpp"

#include <optional>
#include <vector>

namespace weir::lab {

// What some of the trees say of all keys.
struct ScoredKeys {
  std::optional<learn::Trees> trees;                         // nothing: no trees
  std::vector<float> members, known, unknown;                // as keys stand
  std::vector<float> members_down, known_down, unknown_down; // from the highest on

  [[nodiscard]] static ScoredKeys of(std::optional<learn::Trees> trees, const LearnableSet &set,
                                     std::size_t known);
  [[nodiscard]] std::uint64_t model_bits() const { return trees ? trees->bits() : 0; }
};

struct LearnedChoice {
  const ScoredKeys *scored = nullptr;
  float threshold = 0;
  std::uint64_t backup_members = 0, bits = 0; // all of them
  double efpr = 1;                            // predicted
};

// The least EFPR within so many bits; the least bits for a rate. `psi`: share of the questions for known others.
[[nodiscard]] LearnedChoice best_for_bits(std::span<const ScoredKeys> scored, double psi, std::uint64_t bits);
[[nodiscard]] std::optional<LearnedChoice> least_for_rate(std::span<const ScoredKeys> scored, double psi,
                                                          double rate);

class LearnedBloom {
public:
  // Errors: those of the Bloom filter.
  [[nodiscard]] static Result<LearnedBloom> build(const LearnedChoice &choice, const LearnableSet &set);

  // Bit i: key i of a burst is accepted. `rows` may be read where there are trees.
  [[nodiscard]] filter::HitMask contains(std::span<const KeyHash> keys,
                                         std::span<const learn::FeatureRow> rows) const noexcept;
  // Share accepted of keys with these margins.
  [[nodiscard]] double share(std::span<const KeyHash> keys, std::span<const float> margins) const;

private:
  LearnedBloom(const LearnedChoice &choice, filter::Bloom backup)
      : choice_(choice), backup_(std::move(backup)) {}

  LearnedChoice choice_;
  filter::Bloom backup_;
};

} // namespace weir::lab
