// The model that chooses front filter and predictor, over figures made up for the purpose.
#include "control/plan/cost.hpp"
#include "control/plan/hit_meter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::plan::cost_test {
namespace {

constexpr Option plain{}, chain{FrontFilter::none, Predictor::chained},
    bloom{FrontFilter::split_block_bloom, Predictor::inline_bits};
constexpr std::uint64_t mib = 1u << 20;

// Everything costs the same work; a line costs nothing within L2, 2 ns within L3, 20 ns beyond.
Calibration even_handed() {
  Calibration c;
  c.l2_bytes = mib;
  c.l3_bytes = 32 * mib;
  for (const Family family : {Family::ipv4, Family::ipv6})
    for (const Option &option : all_options) c.work_of(family, option) = {10, 10, 10, 10};
  c.touch.fill({{mib, 0}, {2 * mib, 2}, {32 * mib, 2}, {64 * mib, 20}});
  c.touch[static_cast<std::size_t>(Path::few)] = {{mib, 0}, {64 * mib, 3}};
  c.touch[static_cast<std::size_t>(Path::several)] = {{mib, 0}, {64 * mib, 10}};
  return c;
}

double ns_of(Option option, std::uint64_t keys, double hit_ratio, const Calibration &c = even_handed()) {
  return cost_of(Family::ipv4, sizes_of(Family::ipv4, keys), hit_ratio, option, c).ns;
}

TEST(CostModel, more_keys_never_cost_less) {
  for (const Option &option : all_options)
    for (const double hits : {0.0, 0.01, 0.5, 1.0}) {
      double before = 0;
      for (std::uint64_t keys = 1000; keys <= 64'000'000; keys *= 2) {
        const double now = ns_of(option, keys, hits);
        EXPECT_GE(now, before - 0.05) << name_of(option.predictor) << " at " << keys << " keys";
        before = now;
      }
    }
}

TEST(CostModel, more_hits_cost_a_front_filter_more) {
  double before = 0;
  for (const double hits : {0.0, 0.01, 0.1, 0.5, 1.0}) {
    const double now = ns_of(bloom, 10'000'000, hits);
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST(CostModel, work_goes_through_its_four_points) {
  const Work work{10, 14, 20, 12};
  EXPECT_DOUBLE_EQ(work.at(0), 10);
  EXPECT_DOUBLE_EQ(work.at(Work::few_hits), 14);
  EXPECT_NEAR(work.at(0.5), 20, 1e-9);
  EXPECT_NEAR(work.at(1), 12, 1e-9);
  EXPECT_DOUBLE_EQ(work.at(7), 12) << "more than all cannot hit";
}

TEST(CostModel, a_line_alone_costs_more_than_one_of_many_that_come_at_once) {
  // At 64 MiB 20 ns a line; a filter of a sixth of that, which is 2 of them, and a line a burst 3, nine lines 10.
  const Calibration c = even_handed();
  const auto some = [&](double share) { return c.some_touch_ns(share, Path::line, 64 * mib); };
  EXPECT_DOUBLE_EQ(some(0), 0);
  EXPECT_NEAR(some(Work::few_hits), 1, 1e-9);
  EXPECT_NEAR(some(1), 20, 1e-9);
  EXPECT_NEAR(some(Calibration::several_share), 8, 1e-9);
  EXPECT_GT(some(0.1), 0.1 * 20);
  EXPECT_NEAR(some((1 + Calibration::several_share) / 2), 14, 1e-9);
  EXPECT_LT(some(0.001), 0.2) << "one burst of fifteen waits";
  for (double share = 0; share < 1; share += 1.0 / 128)
    EXPECT_GE(some(share + 1.0 / 128), some(share)) << share;
  EXPECT_DOUBLE_EQ(c.some_touch_ns(0.5, Path::line, mib), 0) << "within L2";
}

TEST(CostModel, a_second_line_behind_a_filter_waits_alone_too) {
  const Calibration c = even_handed();
  EXPECT_DOUBLE_EQ(second_line_ns(Work::few_hits, false, 64 * mib, c), Work::few_hits * 20);
  EXPECT_NEAR(second_line_ns(Work::few_hits, true, 64 * mib, c), 1, 1e-9);
  EXPECT_DOUBLE_EQ(second_line_ns(0, true, 64 * mib, c), 0);
  // And so does that of a whole plan.
  const Sizes s = sizes_of(Family::ipv4, 20'000'000);
  constexpr double h = 0.1;
  const double second = h * (s.lines.hit - 1) + (1 - h) * s.front_rate * (s.lines.absent - 1);
  const double waits = c.some_touch_ns(second, Path::line, s.inline_bits.bytes2);
  ASSERT_GT(waits, 2 * second * c.touch_ns(Path::line, s.inline_bits.bytes2));
  EXPECT_NEAR(cost_of(Family::ipv4, s, h, bloom, c).memory_ns,
              c.some_touch_ns(h + (1 - h) * s.front_rate, Path::line, s.inline_bits.bytes1) + waits +
                  c.touch_ns(Path::block, s.front_bytes),
              1e-9);
}

TEST(CostModel, a_burst_pays_for_its_first_hit_early_and_for_the_others_evenly) {
  const Work work{10, 14, 20, 20}; // a parabola would have 10.6 at one in 64
  EXPECT_GT(work.at(0.01), 12.5);
  EXPECT_LT(work.at(0.01), 14);
  EXPECT_NEAR(work.at(0.001), 10.4, 0.1);
  for (double h = 0; h < 0.5; h += 1.0 / 256) EXPECT_GE(work.at(h + 1.0 / 256), work.at(h)) << h;
  const Work straight{10, 10 + 10 * Work::few_hits, 15, 20};
  for (const double h : {0.001, 0.01, 0.1, 0.7}) EXPECT_NEAR(straight.at(h), 10 + 10 * h, 1e-9) << h;
}

TEST(CostModel, a_chained_table_answers_from_one_line_and_inline_bits_from_a_little_more) {
  const Sizes sizes = sizes_of(Family::ipv4, 1'000'000);
  const Cost chained = cost_of(Family::ipv4, sizes, 0.5, chain, even_handed());
  EXPECT_DOUBLE_EQ(chained.lines, 1);
  const Cost inline_bits = cost_of(Family::ipv4, sizes, 0.5, plain, even_handed());
  EXPECT_NEAR(inline_bits.lines_hit, 1.09, 0.02);
  EXPECT_NEAR(inline_bits.lines_absent, 1.05, 0.02);
  EXPECT_NEAR(cost_of(Family::ipv4, sizes, 0.5, bloom, even_handed()).lines_absent, 1.01, 0.01);
}

Option chosen(std::uint64_t keys, double hit_ratio, const Calibration &c = even_handed(),
              std::span<const Option> candidates = all_options) {
  return choose({.family = Family::ipv4, .keys = keys, .hit_ratio = hit_ratio, .candidates = candidates}, c)
      .chosen;
}

TEST(Choice, takes_a_front_filter_when_it_fits_a_nearer_cache_and_few_questions_hit) {
  EXPECT_EQ(chosen(10'000'000, 0.01).front_filter, FrontFilter::split_block_bloom);
  EXPECT_EQ(chosen(10'000'000, 0.9).front_filter, FrontFilter::none);
  EXPECT_EQ(chosen(50'000, 0.01).front_filter, FrontFilter::none) << "both fit";
}

TEST(Choice, of_two_that_are_level_the_plainer_is_taken) {
  Calibration c = even_handed();
  c.touch.fill({{mib, 0}, {2 * mib, 0}});
  for (const std::uint64_t keys : {0ull, 1000ull, 1'000'000ull}) EXPECT_EQ(chosen(keys, 0.1, c), plain);
  c.work_of(Family::ipv4, chain) = {9.7, 9.7, 9.7, 9.7};
  EXPECT_EQ(chosen(1'000'000, 0.1, c), plain) << "3 % is not worth a predictor";
  c.work_of(Family::ipv4, chain) = {9.3, 9.3, 9.3, 9.3};
  EXPECT_EQ(chosen(1'000'000, 0.1, c), chain);
}

TEST(Choice, takes_no_predictor_that_needs_more_than_half_of_l2_unless_there_is_no_other) {
  Calibration c = even_handed();
  c.work_of(Family::ipv4, chain) = {1, 1, 1, 1};
  const std::uint64_t keys = 30'000'000;
  const Answer answer = choose({.keys = keys, .hit_ratio = 0.95}, c);
  EXPECT_EQ(answer.chosen, plain);
  EXPECT_FALSE(answer.costs[1].allowed);
  EXPECT_NE(answer.costs[1].why_not.find("more than half of L2"), std::string::npos);
  const Option forced[] = {chain};
  EXPECT_EQ(chosen(keys, 0.95, c, forced), chain);
}

TEST(Choice, is_never_more_than_a_few_percent_behind_the_best_that_is_allowed) {
  Calibration c = even_handed();
  unsigned step = 0;
  for (std::uint64_t keys = 1000; keys <= 64'000'000; keys = keys * 3 / 2)
    for (const double hits : {0.001, 0.01, 0.1, 0.5, 1.0}) {
      c.work_of(Family::ipv4, chain).hit = 8 + step++ % 5;
      const Answer answer = choose({.keys = keys, .hit_ratio = hits}, c);
      for (const Cost &cost : answer.costs)
        if (cost.allowed) {
          const double more = cost.option.front_filter == FrontFilter::none ? 1.09 : 1.3;
          EXPECT_LT(answer.best().ns, cost.ns * more) << keys << " keys, " << hits << " hits";
        }
    }
}

TEST(Choice, says_of_each_candidate_why_not) {
  const Answer answer = choose({.keys = 10'000'000, .hit_ratio = 0.5}, even_handed());
  for (const Cost &cost : answer.costs) EXPECT_EQ(cost.why_not.empty(), cost.chosen);
}

TEST(HitMeter, assumes_until_enough_was_asked) {
  HitMeter meter;
  EXPECT_FALSE(meter.workload().measured());
  EXPECT_DOUBLE_EQ(meter.workload().hit_ratio, hit_ratio_assumed);
  meter.note({HitMeter::questions_min - 1, 5});
  EXPECT_FALSE(meter.workload().measured());
  meter.note({100'000, 2'000});
  EXPECT_DOUBLE_EQ(meter.workload().hit_ratio, 0.02);
  EXPECT_EQ(meter.workload().questions, 100'000u);
}

TEST(HitMeter, forgets_what_is_long_ago) {
  HitMeter meter;
  meter.note({HitMeter::window, HitMeter::window});
  meter.note({2 * HitMeter::window, HitMeter::window});
  meter.note({3 * HitMeter::window, HitMeter::window});
  EXPECT_DOUBLE_EQ(meter.workload().hit_ratio, 0);
}

TEST(HitMeter, starts_again_with_a_dataplane_that_started_again) {
  HitMeter meter;
  meter.note({3 * HitMeter::window, HitMeter::window});
  meter.note({20'000, 10'000});
  EXPECT_DOUBLE_EQ(meter.workload().hit_ratio, 0.5);
}

} // namespace
} // namespace weir::plan::cost_test
