// A memory of stable filters keeps its bound on wrong accepts after any number of insertions: looked at in its cells, where no
// drawing of questions adds chance of its own.
#include "weir/build/offenders_builder.hpp"

#include "tests/support/seed.hpp"
#include "weir/filter/score_groups.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace weir::test::offenders_bound_test {
namespace {

using namespace weir::build;
using filter::StableBloom;

// Six groups of a calibrated classifier whose log odds are normal (tests/lab/slbf_data.hpp); an AUC of 0.5 is one group.
std::vector<ScoreGroup> groups_of(double auc) {
  if (auc <= 0.5) return {{1, 1}};
  double low = 0, high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / 2) / 2 < auc ? low : high) = middle;
  }
  const auto below = [spread = low](double score, double sign) {
    if (score <= 0 || score >= 1) return score <= 0 ? 0.0 : 1.0;
    const double odds = (std::log(score / (1 - score)) - sign * spread * spread / 2) / spread;
    return std::erfc(-odds / std::numbers::sqrt2) / 2;
  };
  std::vector<ScoreGroup> groups;
  for (int j = 0; j < 6; ++j)
    groups.push_back(
        {below((j + 1) / 6.0, 1) - below(j / 6.0, 1), below((j + 1) / 6.0, -1) - below(j / 6.0, -1)});
  return groups;
}

class Memory {
public:
  Memory(const OffenderPlan &plan, std::vector<ScoreGroup> groups, std::uint64_t seed)
      : plan_(plan), groups_(std::move(groups)), random_(seed) {
    for (std::size_t j = 0; j < plan.groups.size(); ++j) {
      const image::OffenderGroup &g = plan.groups[j];
      filters_.emplace_back();
      if (g.answer == image::OffenderAnswer::filter)
        filters_.back() = StableBloom::make({g.words, g.max, g.hashes, g.decrements}, j, seed + j).value();
    }
  }
  void tell(std::uint64_t number) {
    double place = std::generate_canonical<double, 53>(random_);
    std::size_t j = 0;
    while (j + 1 < groups_.size() && place > groups_[j].told) place -= groups_[j++].told;
    if (filters_[j]) filters_[j]->insert({remix({number}, 1)});
  }
  // Of keys that were never told and fall into groups as planned.
  [[nodiscard]] double accepts() const {
    return over_groups([](const StableBloom &f) { return std::pow(1 - f.zeros(), f.shape().hashes); });
  }
  [[nodiscard]] double accepts_asked(std::uint64_t asked) const {
    return over_groups([asked](const StableBloom &f) {
      std::uint64_t accepted = 0;
      for (std::uint64_t i = 0; i < asked; ++i) accepted += f.contains({remix({i}, 2)}) ? 1 : 0;
      return static_cast<double>(accepted) / static_cast<double>(asked);
    });
  }

private:
  template <class Rate> [[nodiscard]] double over_groups(Rate rate) const {
    double sum = 0;
    for (std::size_t j = 0; j < groups_.size(); ++j) {
      if (filters_[j]) sum += groups_[j].other * rate(*filters_[j]);
      if (plan_.groups[j].answer == image::OffenderAnswer::accept) sum += groups_[j].other;
    }
    return sum;
  }

  const OffenderPlan &plan_;
  std::vector<ScoreGroup> groups_;
  std::mt19937_64 random_;
  std::vector<std::optional<StableBloom>> filters_;
};

TEST(OffendersBound, holds_within_a_tenth_at_every_look_however_few_keys_are_remembered) {
  const std::uint64_t seed = seed_or(41);
  WEIR_TRACE_SEED(seed);
  for (const double auc : {0.5, 0.82, 0.91})
    for (const double rate : {0.2, 0.05, 0.01, 0.001})
      for (const std::uint64_t gap : {1'000u, 4'000u, 20'000u}) {
        SCOPED_TRACE(testing::Message() << "AUC " << auc << " rate " << rate << " gap " << gap);
        const auto groups = groups_of(auc);
        std::vector<float> thresholds = uniform_thresholds(static_cast<unsigned>(groups.size()));
        const auto plan = plan_stable_offenders(thresholds, groups, {rate, 0.1, gap}).value();
        Memory memory(plan, groups, seed);
        double most = 0, sum = 0;
        unsigned looks = 0;
        const std::uint64_t gaps = gap < 20'000 ? 240 : 60; // a mean over few cells takes longer to settle
        for (std::uint64_t i = 1; i <= gaps * gap; ++i) {
          memory.tell(i);
          if (i % (gap / 4) != 0) continue;
          const double now = memory.accepts();
          if (i <= 60 * gap) most = std::max(most, now);
          if (i > 20 * gap) sum += now, ++looks;
        }
        EXPECT_LE(most, 1.1 * rate);
        EXPECT_NEAR(sum / looks, plan.accepted, 0.03 * rate);
        EXPECT_GT(plan.accepted, 0.85 * rate) << "aims lower than it has to";
        if (gap == 20'000) {
          EXPECT_NEAR(memory.accepts_asked(400'000), memory.accepts(), 0.05 * rate + 1e-4);
        }
      }
}

// The model's deviation is that of independent cells, which real ones keep below.
TEST(OffendersBound, rests_on_a_deviation_that_filters_keep_below) {
  const std::uint64_t seed = seed_or(42);
  WEIR_TRACE_SEED(seed);
  for (const double rate : {0.2, 0.01}) {
    constexpr double gap = 2'000;
    const double bits = least_stable_bits(rate, 0.1);
    const StableLaw law = best_stable_law(rate, bits);
    const auto shape = stable_shape(law, bits * gap);
    double sum = 0, squares = 0;
    unsigned looks = 0;
    for (std::uint64_t run = 0; run < 8; ++run) {
      auto filter = StableBloom::make(shape, run, seed + run).value();
      for (std::uint64_t i = 1; i <= 60 * static_cast<std::uint64_t>(gap); ++i) {
        filter.insert({remix({i}, seed + run)});
        if (i < 20 * static_cast<std::uint64_t>(gap) || i % 500 != 0) continue;
        const double now = std::pow(1 - filter.zeros(), law.hashes) / rate;
        sum += now, squares += now * now, ++looks;
      }
    }
    const double mean = sum / looks, measured = std::sqrt(squares / looks - mean * mean),
                 model = stable_rate_spread(law, static_cast<double>(shape.cells()));
    EXPECT_LT(measured, model) << rate;
    EXPECT_GT(measured, 0.5 * model) << rate;
  }
}

} // namespace
} // namespace weir::test::offenders_bound_test
