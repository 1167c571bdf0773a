// Sizes of stacked filters: within their constraint, never worse than one layer, as good as trying
// everything where everything can be tried [Stacked §3.5].
#include "control/plan/stacked_advice.hpp"
#include "control/plan/stacked_search.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace weir::plan::stacked_size_test {
namespace {

StackTask task_of(StackBase base, double skew, std::uint64_t negatives = 10'000'000) {
  StackTask task;
  task.base = base;
  task.positives = 1'000'000;
  task.negatives = CostCurve::zipf(negatives, skew);
  return task;
}
StackTask for_bits(StackBase base, double skew, double bits_per_key) {
  StackTask task = task_of(base, skew);
  task.bits_total = bits_per_key * task.positives;
  return task;
}
StackTask for_rate(StackBase base, double skew, double rate) {
  StackTask task = task_of(base, skew);
  task.rate_max = rate;
  return task;
}
StackPlan plan(const StackTask &task) { return size_stack(task).value(); }

constexpr std::array bases{StackBase::bloom, StackBase::cuckoo, StackBase::quotient, StackBase::fuse,
                           StackBase::split_block};

TEST(StackedSize, keeps_to_its_bits_and_is_never_worse_than_one_layer) {
  for (const StackBase base : bases)
    for (const double skew : {0.0, 0.5, 1.0, 1.5})
      for (const double bits : {6.0, 8.0, 12.0}) {
        SCOPED_TRACE(std::string(name_of(base)) + " skew " + std::to_string(skew) + " bits " +
                     std::to_string(bits));
        const StackTask task = for_bits(base, skew, bits);
        const StackPlan p = plan(task);
        EXPECT_LE(p.bits, *task.bits_total * (1 + 1e-6));
        EXPECT_LE(p.efpr, p.single_rate * (1 + 1e-9));
        EXPECT_EQ(p.layers.size() % 2, 1u);
        EXPECT_NEAR(p.efpr, build::stacked_efpr(p.rates(), p.psi), 1e-12);
        EXPECT_NEAR(p.efpb, build::unknown_rate(p.rates()), 1e-12);
      }
}

TEST(StackedSize, keeps_to_its_rate_and_never_takes_more_bits_than_one_layer) {
  for (const StackBase base : bases)
    for (const double skew : {0.0, 0.75, 1.25})
      for (const double rate : {0.05, 0.01, 0.0001}) {
        SCOPED_TRACE(std::string(name_of(base)) + " skew " + std::to_string(skew) + " rate " +
                     std::to_string(rate));
        const StackPlan p = plan(for_rate(base, skew, rate));
        EXPECT_LE(p.efpr, rate * (1 + 1e-4));
        EXPECT_LE(p.bits, p.single_bits * (1 + 1e-9));
      }
}

TEST(StackedSize, both_directions_meet) {
  for (const StackBase base : {StackBase::bloom, StackBase::cuckoo}) {
    const StackPlan there = plan(for_bits(base, 1, 8));
    const StackPlan back = plan(for_rate(base, 1, there.efpr));
    EXPECT_LE(back.bits, there.bits * 1.005) << name_of(base);
    EXPECT_GE(back.bits, there.bits * 0.98) << name_of(base);
  }
}

TEST(StackedSize, bloom_layers_at_eight_bits_come_to_what_is_possible) {
  EXPECT_LT(plan(for_bits(StackBase::bloom, 1, 8)).efpr, 0.0019);
  EXPECT_LT(plan(for_bits(StackBase::bloom, 0.75, 8)).efpr, 0.0074);
  StackTask shallow = for_bits(StackBase::bloom, 1, 8);
  shallow.depth_max = 5;
  EXPECT_LT(plan(shallow).efpr, 0.0022);
}

TEST(StackedSize, nine_layers_are_tried_where_five_gain_nothing) {
  StackTask task = for_bits(StackBase::bloom, 1, 14);
  task.positives = 100'000;
  task.bits_total = 14 * task.positives;
  EXPECT_LT(plan(task).efpr, 1e-5);
  task.depth_max = 7;
  EXPECT_GT(plan(task).efpr, 7e-5);
}

TEST(StackedSize, takes_less_than_a_third_of_a_second_at_ten_million_negatives) {
  const std::clock_t start = std::clock();
  (void)plan(for_bits(StackBase::bloom, 0.75, 8));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 0.3);
}

TEST(StackedSize, goes_deeper_only_while_two_layers_gain_what_is_asked_of_them) {
  for (const StackBase base : {StackBase::bloom, StackBase::cuckoo, StackBase::split_block}) {
    StackTask task = for_bits(base, 1, 8);
    std::size_t layers = 9;
    double efpr = 0;
    for (const double gain : {0.001, 0.1, 0.3, 0.999}) {
      task.gain_min = gain;
      const StackPlan p = plan(task);
      EXPECT_LE(p.layers.size(), layers) << name_of(base) << ' ' << gain;
      EXPECT_GE(p.efpr, 0.999 * efpr) << name_of(base) << ' ' << gain;
      layers = p.layers.size(), efpr = p.efpr;
    }
    EXPECT_GT(layers, 1u) << "three layers are tried all the same";
    for (const unsigned depth : {1u, 3u, 5u, 7u}) {
      task.gain_min = 0, task.depth_max = depth;
      EXPECT_LE(plan(task).layers.size(), depth);
    }
  }
}

TEST(StackedSize, split_blocks_in_layers_cost_as_much_more_as_alone) {
  for (const double rate : {0.2, 0.03, 0.004}) {
    const auto shape = filter::SplitBlockFilter::shape_for_rate(1e6, rate).value();
    EXPECT_NEAR(bits_for_rate(StackBase::split_block, rate), static_cast<double>(shape.bits()) / 1e6,
                0.002 * static_cast<double>(shape.bits()) / 1e6);
    EXPECT_NEAR(build::split_block_law.bits(rate) / bits_for_rate(StackBase::split_block, rate), 1, 0.05)
        << rate;
  }
  const StackPlan blocks = plan(for_bits(StackBase::split_block, 1, 8));
  EXPECT_LT(blocks.efpr, 0.2 * blocks.single_rate);
  EXPECT_GT(blocks.efpr, plan(for_bits(StackBase::bloom, 1, 8)).efpr);
}

TEST(StackedSize, says_the_same_again) {
  const StackPlan a = plan(for_bits(StackBase::bloom, 1, 8)), b = plan(for_bits(StackBase::bloom, 1, 8));
  EXPECT_EQ(a.rates(), b.rates());
  EXPECT_EQ(a.known, b.known);
}

// ---- what enumeration finds ----------------------------------------------------------------------

struct Tried {
  double worth = 1e300;
  std::array<unsigned, 3> digits{};
};

// Three layers of every combination; |N_k| on a fine grid, so that nothing is taken from the search.
Tried try_everything(const StackTask &task) {
  const Goal goal(task);
  const MassTable &mass = goal.mass();
  Tried best;
  std::array<Digits, digits_max + 1> of{};
  for (unsigned d = 1; d <= digits_max; ++d) of[d] = digits_of(task.base, d);
  for (unsigned a = 1; a <= digits_max; ++a)
    for (unsigned b = 1; b <= digits_max; ++b)
      for (unsigned c = 1; c <= digits_max; ++c) {
        const std::array<double, 3> rates{of[a].rate, of[b].rate, of[c].rate};
        const auto cost = [&](double keys, unsigned d) { return bits_per_key(task.base, of[d], d, keys); };
        const double third = task.positives * rates[1], negatives = mass.negatives() * rates[0];
        const double fixed = task.positives * cost(task.positives, a) + third * cost(third, c);
        for (double known = 1; known < mass.negatives() * 1.14; known *= 1.15) {
          const double bits = fixed + std::min(known, mass.negatives()) * rates[0] * cost(negatives, b);
          const double wrong = goal.wrong(rates, known);
          if (bits > goal.bits_max() - overhead_bits(3)) break;
          if (task.rate_max && wrong > *task.rate_max) continue;
          if (build::unknown_rate(rates) > goal.efpb_max()) continue;
          if (const double worth = goal.worth(rates, bits, wrong); worth < best.worth)
            best = {worth, {a, b, c}};
        }
      }
  return best;
}

TEST(StackedSize, enumeration_finds_what_trying_everything_finds) {
  for (const StackBase base : {StackBase::cuckoo, StackBase::quotient, StackBase::fuse})
    for (const bool bits : {true, false})
      for (const double efpb_max : {1.0, 0.02}) {
        StackTask task = bits ? for_bits(base, 0.75, 9.5) : for_rate(base, 0.75, 0.004);
        task.efpb_max = efpb_max;
        const Goal goal(task);
        const Tried tried = try_everything(task);
        const StackedChoice found = enumerate(goal, 3, {});
        SCOPED_TRACE(std::string(name_of(base)) + (bits ? " bits" : " rate"));
        EXPECT_LE(found.worth, tried.worth) << "a finer |N_k|";
        EXPECT_GT(found.worth, 0.8 * tried.worth) << "and nothing that does not exist";
      }
}

TEST(StackedSize, free_rates_are_no_worse_than_a_grid_of_them) {
  const StackTask task = for_bits(StackBase::bloom, 1, 8);
  const Goal goal(task);
  double least = 1;
  for (double a = 0.02; a < 0.2; a *= 1.1)
    for (double b = 0.005; b < 0.6; b *= 1.2)
      for (double c = 0.001; c < 0.6; c *= 1.2) {
        const std::array<double, 3> rates{a, b, c};
        const double left = 0.998 * *task.bits_total - task.positives * (filter::Bloom::bits_per_key(a) +
                                                                         b * filter::Bloom::bits_per_key(c));
        if (left > 0) least = std::min(least, goal.wrong(rates, left / (a * filter::Bloom::bits_per_key(b))));
      }
  EXPECT_LE(solve_continuous(goal, 3, solve_continuous(goal, 1, {})).wrong, least);
}

// ---- what may be asked for -----------------------------------------------------------------------

TEST(StackedSize, keeps_a_bound_for_negatives_that_nobody_knew_of) {
  for (const StackBase base : bases) {
    StackTask task = for_bits(base, 1, 10);
    const double free = plan(task).efpb;
    task.efpb_max = 0.9 * free;
    if (plan(for_bits(base, 1, 10)).single_rate > task.efpb_max) continue;
    EXPECT_LE(plan(task).efpb, task.efpb_max * (1 + 1e-4)) << name_of(base);
  }
}

TEST(StackedSize, the_less_the_workload_is_trusted_the_lower_the_bound_for_everybody) {
  StackTask task = for_bits(StackBase::bloom, 1, 8);
  double efpb = 1, efpr = 0;
  for (const double weight : {1.0, 0.9, 0.6, 0.3}) {
    task.weight = weight;
    const StackPlan p = plan(task);
    EXPECT_LE(p.efpb, efpb * 1.01) << weight;
    EXPECT_GE(p.efpr, efpr * 0.99) << weight;
    efpb = p.efpb, efpr = p.efpr;
  }
  task.weight = 0;
  EXPECT_NEAR(plan(task).efpb, plan(task).single_rate, 1e-6) << "one layer is best against the unknown";
}

TEST(StackedSize, a_price_on_probes_makes_layers_fewer_or_less_asked) {
  for (const StackBase base : {StackBase::bloom, StackBase::cuckoo}) {
    StackTask task = for_bits(base, 1, 8);
    const auto free = plan(task).rates();
    task.price = {10, 10, 10};
    const auto dear = plan(task).rates();
    EXPECT_LE(build::positive_probes(dear) + build::unknown_probes(dear),
              build::positive_probes(free) + build::unknown_probes(free))
        << name_of(base);
    EXPECT_GT(build::positive_probes(free), 2.0);
  }
}

TEST(StackedSize, static_layers_below_save_what_negatives_cost) {
  for (const auto &[base, bits] : {std::pair{StackBase::bloom, 8.0}, std::pair{StackBase::cuckoo, 10.0}}) {
    StackTask task = for_bits(base, 0.75, bits);
    const StackPlan own = plan(task);
    task.fuse_below = true;
    const StackPlan fuse = plan(task);
    EXPECT_LE(fuse.bits, *task.bits_total * (1 + 1e-6));
    EXPECT_LT(fuse.efpr, 0.9 * own.efpr) << name_of(base);
    for (std::size_t i = 1; i < fuse.layers.size(); i += 2)
      EXPECT_EQ(fuse.layers[i].rate, std::exp2(-static_cast<double>(fuse.layers[i].digits)));
  }
}

TEST(StackedSize, a_measured_workload_counts_as_its_own_law) {
  std::vector<double> costs(1000, 1.0);
  for (std::size_t i = 0; i < 100; ++i) costs[i] = 91;
  StackTask task;
  task.positives = 10'000;
  task.negatives = CostCurve::of(costs, 1000);
  task.bits_total = 80'000;
  const StackPlan p = plan(task);
  EXPECT_GE(p.known, 100);
  EXPECT_NEAR(p.psi, 0.9, 0.1);
  EXPECT_LT(p.efpr, 0.5 * p.single_rate);
}

TEST(StackedSize, refuses_tasks_that_make_no_sense) {
  const auto code = [](auto change) {
    StackTask task = for_bits(StackBase::bloom, 1, 8);
    change(task);
    const auto plan = size_stack(task);
    return plan ? Errc::io : plan.error().code;
  };
  EXPECT_EQ(code([](StackTask &t) { t.positives = 0; }), Errc::usage);
  EXPECT_EQ(code([](StackTask &t) { t.rate_max = 0.01; }), Errc::usage) << "both";
  EXPECT_EQ(code([](StackTask &t) { t.bits_total.reset(); }), Errc::usage) << "neither";
  EXPECT_EQ(code([](StackTask &t) { t.bits_total.reset(), t.rate_max = 2; }), Errc::usage);
  EXPECT_EQ(code([](StackTask &t) { t.weight = 1.5; }), Errc::usage);
  EXPECT_EQ(code([](StackTask &t) { t.depth_max = 4; }), Errc::usage);
  EXPECT_EQ(code([](StackTask &t) { t.base = StackBase::quotient, t.bits_total = 1e6; }), Errc::refused);
  EXPECT_EQ(code([](StackTask &t) { t.efpb_max = 1e-9; }), Errc::refused);
  EXPECT_EQ(code([](StackTask &t) { t.bits_total = 500; }), Errc::refused) << "less than its headers";
}

// ---- advice --------------------------------------------------------------------------------------

TEST(StackAdvice, says_stack_where_few_negatives_are_asked_for_most_and_by_how_much_it_pays) {
  const auto advice = advise_stack(StackBase::bloom, 1e6, CostCurve::zipf(10'000'000, 1), 0.01).value();
  EXPECT_TRUE(advice.stack);
  EXPECT_GT(advice.psi, advice.psi_needed);
  EXPECT_GT(advice.gain.saved(), 1.5);
  EXPECT_TRUE(advice.words.starts_with("stack at 1 % errors: ")) << advice.words;
  StackTask task = for_rate(StackBase::bloom, 1, 0.01);
  EXPECT_LE(plan(task).bits, 1.01 * task.positives * advice.gain.bits_stacked)
      << "the least that it promises";
}

TEST(StackAdvice, says_do_not_where_nothing_is_asked_for_more_than_the_rest) {
  const auto advice = advise_stack(StackBase::bloom, 1e4, CostCurve::zipf(100'000'000, 0), 0.05).value();
  EXPECT_FALSE(advice.stack);
  EXPECT_EQ(advice.gain.saved(), 0);
  EXPECT_TRUE(advice.words.starts_with("do not stack at 5 % errors: ")) << advice.words;
}

TEST(StackAdvice, never_promises_what_sizing_does_not_keep) {
  for (const double skew : {0.5, 0.75, 1.25})
    for (const double rate : {0.02, 0.001}) {
      const CostCurve curve = CostCurve::zipf(10'000'000, skew);
      const auto advice = advise_stack(StackBase::bloom, 1e6, curve, rate).value();
      EXPECT_LE(plan(for_rate(StackBase::bloom, skew, rate)).bits, 1.01e6 * advice.gain.bits_stacked)
          << skew << ' ' << rate;
    }
  EXPECT_EQ(advise_stack(StackBase::bloom, 0, CostCurve::zipf(10, 1), 0.1).error().code, Errc::usage);
  EXPECT_EQ(advise_stack(StackBase::bloom, 10, CostCurve::zipf(10, 1), 0).error().code, Errc::usage);
}

} // namespace
} // namespace weir::plan::stacked_size_test
