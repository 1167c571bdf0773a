// No present key is missed over a filter's life: all keys in, half of them out, six rounds of churn, with
// sizes as planned and with cells and modulators that overflow all the time.
#include "control/plan/seesaw_size.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::filter::seesaw_churn_test {
namespace {

using test::SeesawSection;

constexpr std::uint64_t keys_max = 40'000;

// The keys present, the filter beside them, and what it got wrong.
class Life {
public:
  Life(const build::SeesawParams &params, std::uint64_t guarded, std::uint64_t seed)
      : seed_(seed), random_(seed), section_(params, {}, test::numbered_keys(seed, 1, guarded)),
        writer_(section_.writer()) {}

  void live() {
    for (std::uint64_t i = 0; i < keys_max; ++i) insert();
    look();
    for (std::uint64_t i = 0; i < keys_max / 2; ++i) erase();
    look();
    for (unsigned round = 0; round < 6; ++round) {
      for (std::uint64_t i = 0; i < keys_max / 10; ++i) erase();
      writer_.learn(test::numbered_key(seed_, 3, round));
      for (std::uint64_t i = 0; i < keys_max / 10; ++i) insert();
      look();
    }
  }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  [[nodiscard]] SeesawLoad load() const { return writer_.load(); }

private:
  void insert() {
    present_.push_back(test::numbered_key(seed_, 0, next_++));
    writer_.insert(present_.back());
  }
  void erase() {
    std::swap(present_[random_() % present_.size()], present_.back());
    missed_ += !writer_.erase(present_.back());
    present_.pop_back();
  }
  void look() {
    const SeesawView view = section_.view();
    asked_ += present_.size();
    for (const KeyHash key : present_) missed_ += !view.contains(key);
    for (std::size_t at = 0; at < present_.size(); at += batch_max) {
      const auto asked = std::span(present_).subspan(at, std::min(batch_max, present_.size() - at));
      missed_ += asked.size() - static_cast<unsigned>(std::popcount(view.contains_batch(asked)));
    }
  }

  std::uint64_t seed_, next_ = 0, asked_ = 0, missed_ = 0;
  std::mt19937_64 random_;
  SeesawSection section_;
  SeesawWriter writer_;
  std::vector<KeyHash> present_;
};

TEST(SeesawChurn, a_planned_filter_misses_nothing) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  for (const unsigned bits : {8, 14, 20, 28})
    for (const bool adaptive : {false, true}) {
      plan::SeesawTask task;
      task.keys = keys_max;
      task.bits_total = keys_max * bits;
      task.costs = plan::CostCurve::zipf(keys_max, 1.2);
      task.adaptive = adaptive;
      const auto plan = plan::size_seesaw(task);
      ASSERT_TRUE(plan) << plan.error().message;
      Life life(plan->params, plan->guarded, seed);
      life.live();
      EXPECT_EQ(life.missed(), 0u) << bits << " bits";
      EXPECT_EQ(life.asked(), keys_max * 3 / 2 + 6 * keys_max / 2);
    }
}

TEST(SeesawChurn, an_overflowing_filter_misses_nothing) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uint64_t cells_stuck = 0, modulator_stuck = 0;
  for (unsigned i = 0; i < 12; ++i) {
    build::SeesawParams params;
    params.cell_words = keys_max * (4 + random() % 8) / 64; // bits a key
    params.modulator_words = 8 + random() % 200;
    params.hashes = 1 + i % 8;
    params.index_bits = random() % 4;
    params.backups = 1 + random() % (1u << params.index_bits);
    params.positive_bits = 1 + i % 2;
    params.count_bits = 1 + random() % 3;
    params.adaptive = random() % 2 == 0;
    Life life(params, keys_max / 4, seed + i);
    life.live();
    EXPECT_EQ(life.missed(), 0u);
    cells_stuck += life.load().cells_stuck;
    modulator_stuck += life.load().modulator_stuck;
  }
  EXPECT_GT(cells_stuck, 10'000u);
  EXPECT_GT(modulator_stuck, 1'000u);
}

} // namespace
} // namespace weir::filter::seesaw_churn_test
