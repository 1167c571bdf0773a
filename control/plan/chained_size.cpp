#include "control/plan/chained_size.hpp"

#include "weir/build/chained_filter.hpp"

#include <algorithm>
#include <cmath>

namespace weir::plan {
namespace {

using filter::ChainedFilterShape, filter::ChainedSharedFilterShape;

// Columns that a little chance still finds room in: a seed in a few serves.
constexpr double columns_full_max = 0.9;

// Header and table of a stack of one layer, and that layer's header.
constexpr double headers_bits = 8 * (64 + 64 + 64);

struct Sized {
  double bits = 0;
  double second_keys = 0, second_bits = 0,
         second_rate = 0.5; // of the second stage; its rate for unknown keys
};

// With so many known negatives in all; nothing where that has no shape.
std::optional<Sized> size_of(const ChainTask &task, unsigned first_bits, double known) {
  // How many negatives come to the second stage is a matter of chance.
  const double passing = known * std::exp2(-static_cast<double>(first_bits));
  const double n = task.positives, second = n + passing + 4 * std::sqrt(passing);
  const auto whole_lines = [](std::uint64_t bits) {
    return 8.0 * static_cast<double>(round_up(bits / 8, cache_line_bytes));
  };
  if (!task.shared) {
    const auto shape = ChainedFilterShape::for_keys(n, first_bits, second);
    if (!shape) return std::nullopt;
    return Sized{headers_bits + whole_lines(shape->bits()), second,
                 static_cast<double>(shape->second.bits())};
  }
  const auto shape = ChainedSharedFilterShape::for_keys(n, first_bits);
  if (!shape || shape->objection() != nullptr) return std::nullopt;
  const auto slots = static_cast<double>(shape->slots());
  if (second / 2 > columns_full_max * slots) return std::nullopt;
  return Sized{headers_bits + whole_lines(shape->bits()), second, 2 * slots,
               build::shared_second_rate(slots, second, 4)};
}

unsigned first_bits_max(bool shared) {
  return shared ? build::ChainedSharedFilter::first_bits_max : build::ChainedFilter::first_bits_max;
}

// The most of 0 to `most` that serve, where all up to some number do; the fewest, where all from some number on do. Nothing
// when none does.
template <class Serves> std::optional<double> most_that(double most, Serves serves) {
  if (!serves(0.0)) return std::nullopt;
  double low = 0, high = std::floor(most) + 1; // serves, and does not
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (serves(middle) ? low : high) = middle;
  }
  return low;
}
template <class Serves> std::optional<double> fewest_that(double most, Serves serves) {
  if (!serves(std::floor(most))) return std::nullopt;
  if (serves(0.0)) return 0;
  double low = 0, high = std::floor(most); // does not, and serves
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (serves(middle) ? high : low) = middle;
  }
  return high;
}

StackPlan plan_of(const ChainTask &task, unsigned first_bits, double known, const Sized &sized) {
  const double first_rate = std::exp2(-static_cast<double>(first_bits));
  StackPlan plan;
  plan.layers = {{.rate = first_rate,
                  .expected = first_rate,
                  .keys = task.positives,
                  .bits = sized.bits - headers_bits - sized.second_bits,
                  .digits = first_bits},
                 {.rate = 1 - sized.second_rate,
                  .expected = 1 - sized.second_rate,
                  .keys = sized.second_keys,
                  .bits = sized.second_bits,
                  .digits = 1}};
  plan.known = known;
  plan.psi = task.negatives.share_of(known);
  const std::vector<double> rates = plan.rates();
  plan.efpr = build::stacked_efpr(rates, plan.psi);
  plan.efpb = build::unknown_rate(rates);
  plan.known_rate = build::known_rate(rates);
  plan.bits = sized.bits;
  // One filter of no more bits, which knows nobody.
  if (const auto single =
          build::BinaryFuse4::shape_for(task.positives, static_cast<std::uint64_t>(sized.bits))) {
    plan.single_rate = build::BinaryFuse4::rate(*single, task.positives);
    plan.single_bits = static_cast<double>(single->bits());
  }
  return plan;
}

// The best with so many bits in the first stage.
std::optional<StackPlan> best_with(const ChainTask &task, unsigned first_bits) {
  const auto sized = [&](double known) { return size_of(task, first_bits, known + task.more_known); };
  const auto rate = [&](double known, const Sized &s) {
    return (1 - task.negatives.share_of(known)) * std::exp2(-static_cast<double>(first_bits)) * s.second_rate;
  };
  std::optional<double> known;
  if (task.rate_max)
    known = fewest_that(task.known_max, [&](double k) {
      const auto s = sized(k);
      return s && rate(k, *s) <= *task.rate_max;
    });
  else
    known = most_that(task.known_max, [&](double k) {
      const auto s = sized(k);
      return s && s->bits <= *task.bits_total;
    });
  if (!known) return std::nullopt;
  StackPlan plan = plan_of(task, first_bits, *known, *sized(*known));
  return plan.efpb <= task.efpb_max ? std::optional(std::move(plan)) : std::nullopt;
}

// Of two that keep the constraints. Where nobody is a stranger no form errs, and those that may come count.
bool is_better(const StackPlan &one, const StackPlan &than, bool by_bits) {
  if (by_bits) return one.bits < than.bits;
  return one.efpr != than.efpr ? one.efpr < than.efpr : one.efpb < than.efpb;
}

} // namespace

Result<StackPlan> size_chained(const ChainTask &task) {
  if (task.positives < 1 || task.rate_max.has_value() == task.bits_total.has_value())
    return fail(Errc::usage, "chained filter: give it keys, and either bits or a rate that it is to keep");
  std::optional<StackPlan> best;
  for (unsigned f = 1; f <= first_bits_max(task.shared); ++f) {
    auto plan = best_with(task, f);
    if (!plan) continue;
    if (!best || is_better(*plan, *best, task.rate_max.has_value())) best = std::move(plan);
  }
  if (!best)
    return fail(Errc::refused, "chained filter: no sizes keep the constraint, allow more bits or errors");
  return std::move(*best);
}

} // namespace weir::plan
