// Keys of both sides, and how often each negative is asked for.
//
//   Zipf            negative i (from 1) has i^-z of the questions, nobody else is asked for
//   psi             the negatives have psi of them, all alike; the rest is for keys of no universe
#pragma once

#include "tests/lab/stacked.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace weir::lab {

inline constexpr std::uint64_t unseen_keys = 1'000'000; // of no universe: what EFPB is measured with

class Universe {
public:
  std::vector<KeyHash> positives, negatives, unseen; // negatives: the most frequent first

  explicit Universe(const StackedTask &task)
      : positives(make_keys(task.keyset, Side::positive, task.positives, task.seed)),
        negatives(make_keys(task.keyset, Side::negative, task.negatives + unseen_keys, task.seed)),
        skew_(task.psi ? 0 : task.zipf), psi_(task.psi.value_or(1)), seed_(task.seed) {
    unseen.assign(negatives.end() - static_cast<std::ptrdiff_t>(unseen_keys), negatives.end());
    negatives.resize(task.negatives);
  }

  // Of negative number `at`, from 0: in proportion to its questions.
  [[nodiscard]] double weight(std::size_t at) const { return std::pow(static_cast<double>(at + 1), -skew_); }
  // Share of the negative questions that ask for the universe's negatives.
  [[nodiscard]] double psi() const noexcept { return psi_; }

  // So many questions, with this share of present keys, as they would arrive.
  [[nodiscard]] std::vector<KeyHash> questions(std::size_t count, double positive_share) const {
    std::mt19937_64 random(seed_);
    std::uniform_real_distribution<double> share(0, 1);
    const auto any_of = [&random](const std::vector<KeyHash> &keys) { return keys[random() % keys.size()]; };
    std::vector<double> sums(negatives.size());
    double sum = 0;
    for (std::size_t i = 0; i < negatives.size(); ++i) sums[i] = sum += weight(i);
    std::vector<KeyHash> questions;
    questions.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (share(random) < positive_share) {
        questions.push_back(any_of(positives));
      } else if (share(random) >= psi_) {
        questions.push_back(any_of(unseen));
      } else {
        const auto at = std::ranges::upper_bound(sums, share(random) * sum) - sums.begin();
        questions.push_back(negatives[std::min(static_cast<std::size_t>(at), negatives.size() - 1)]);
      }
    }
    return questions;
  }

private:
  double skew_, psi_;
  std::uint64_t seed_;
};

} // namespace weir::lab
