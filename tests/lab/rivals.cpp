#include "tests/lab/rivals.hpp"

#include "control/plan/allow_stack_size.hpp"
#include "tests/lab/contender_model.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace weir::lab {
namespace {

using filter::CountingBloom;

constexpr unsigned paper_cell_bits = 4;
constexpr std::array<unsigned, 3> widths_tried{2, 3, 4}; // as those of the Seesaw filter's counts

std::string words_of(const CountingBloom::Shape &s) {
  return fmt::format("{} hashes on {} cells of {} bits", s.hashes, s.cells(), s.cell_bits);
}

double turnover_of(const SeesawTask &task) { return task.rounds * task.churn; }

// Share of the cells in use once so many keys have come and gone.
build::CellsInUse in_use(unsigned cell_bits, double turnover) {
  return [most = (1u << cell_bits) - 1, turnover](double mean) {
    return plan::occupied(mean, most, turnover).share;
  };
}
double rate_of(const CountingBloom::Shape &shape, double keys, double turnover) {
  const double mean = keys * shape.hashes / static_cast<double>(shape.cells());
  return std::pow(in_use(shape.cell_bits, turnover)(mean), shape.hashes);
}
// With the number of functions that serves best after churn.
CountingBloom::Shape with_best_hashes(CountingBloom::Shape shape, double keys, double turnover) {
  CountingBloom::Shape best = shape;
  for (shape.hashes = 1; shape.hashes <= CountingBloom::hashes_max; ++shape.hashes)
    if (rate_of(shape, keys, turnover) < rate_of(best, keys, turnover)) best = shape;
  return best;
}

Entry counting_of(std::string name, const CountingBloom::Shape &shape, double keys, double turnover) {
  const double fresh = rate_of(shape, keys, 0), churned = rate_of(shape, keys, turnover);
  Entry entry{std::move(name), {fresh, fresh, churned, churned}, 0, {}, words_of(shape), {}};
  entry.make = [shape](std::span<const KeyHash>) { return wrapped(CountingBloom::make(shape)); };
  return entry;
}

// Share of all negatives that are accepted.
double plain_rate(const build::WeightedSize &size, const Needs &needs) {
  const auto all = static_cast<double>(needs.mass.size() - 1);
  double plain = 0, dear = 0; // dear: keys of the classes
  for (const auto &c : size.classes) {
    plain += static_cast<double>(c.end - c.first) * c.rate;
    dear += static_cast<double>(c.end - c.first);
  }
  return (plain + (all - dear) * size.unknown) / all;
}

Entry weighted_of(std::string name, build::WeightedSize size, const Needs &needs, double turnover) {
  Entry entry{std::move(name), {}, 0, {}, words_of(size.cells), {}};
  for (const auto &c : size.classes) {
    entry.classes.push_back(c.end);
    entry.shape += fmt::format(", {} for the first {}", c.hashes, c.end);
    entry.guarded = c.end;
  }
  const build::WeightedNeeds of{needs.keys, needs.bits, needs.known, needs.mass};
  build::predict(of, size, in_use(size.cells.cell_bits, turnover));
  entry.predicted.weighted_churned = size.weighted;
  entry.predicted.plain_churned = plain_rate(size, needs);
  build::predict(of, size, in_use(size.cells.cell_bits, 0));
  entry.predicted.weighted = size.weighted;
  entry.predicted.plain = plain_rate(size, needs);
  entry.make = [size](std::span<const KeyHash> negatives) {
    return wrapped(build::build_weighted_bloom(size, negatives));
  };
  return entry;
}

Entry no_stack(std::string name) { return {std::move(name), {}, 0, {}, "no stack fits", {}}; }

Entry stack_of(std::string name, const filter::StackedCountingShape &s, std::uint64_t known,
               const Needs &needs, double turnover) {
  Entry entry{std::move(name), {}, known, {known}, {}, {}};
  entry.shape = fmt::format("layer 1 {}; layer 2 {}; layer 3 {}; {} negatives known", words_of(s.positives),
                            words_of(s.negatives), words_of(s.settled), known);
  const auto keys = static_cast<double>(needs.keys), negatives_known = static_cast<double>(known);
  const double share = negatives_known / static_cast<double>(needs.mass.size() - 1);
  const plan::AllowStackForecast fresh = plan::forecast_stack(s, keys, negatives_known, 0),
                                 churned = plan::forecast_stack(s, keys, negatives_known, turnover);
  const double cost = needs.mass[known];
  entry.predicted = {fresh.weighted(cost), fresh.weighted(share), churned.weighted(cost),
                     churned.weighted(share)};
  entry.make = [s, known](std::span<const KeyHash> negatives) -> Made {
    auto stack = filter::StackedCounting::make(s);
    if (!stack) return std::unexpected(stack.error());
    for (const KeyHash negative : negatives.first(known)) TRY(stack->learn(negative));
    return wrapped(std::move(stack));
  };
  return entry;
}

// In what headers and the padding of three layers leave.
std::optional<build::StackSize> equal_stack(const Needs &needs, unsigned cell_bits,
                                            unsigned negative_cell_bits) {
  constexpr std::uint64_t around = 4096;
  return build::size_equal_stack(
      {needs.keys, needs.bits - std::min(needs.bits / 2, around), needs.known, needs.mass}, cell_bits,
      negative_cell_bits);
}

} // namespace

Entry counting_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  const auto keys = static_cast<double>(needs.keys);
  const CountingBloom::Shape shape = CountingBloom::shape_for(keys, needs.bits, paper_cell_bits);
  return counting_of(std::move(name), shape, keys, turnover_of(task));
}

Entry best_counting_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  const auto keys = static_cast<double>(needs.keys);
  const double turnover = turnover_of(task);
  std::optional<CountingBloom::Shape> best;
  for (const unsigned width : widths_tried) {
    const CountingBloom::Shape shape =
        with_best_hashes(CountingBloom::shape_for(keys, needs.bits, width), keys, turnover);
    if (!best || rate_of(shape, keys, turnover) < rate_of(*best, keys, turnover)) best = shape;
  }
  return counting_of(std::move(name), *best, keys, turnover);
}

Entry weighted_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  return weighted_of(
      std::move(name),
      build::size_weighted_bloom({needs.keys, needs.bits, needs.known, needs.mass}, paper_cell_bits), needs,
      turnover_of(task));
}

Entry best_weighted_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  std::optional<build::WeightedSize> best;
  for (const unsigned width : widths_tried) {
    build::WeightedSize size = build::size_weighted_bloom({needs.keys, needs.bits, needs.known, needs.mass},
                                                          width, in_use(width, turnover_of(task)));
    if (!best || size.weighted < best->weighted) best = std::move(size);
  }
  return weighted_of(std::move(name), std::move(*best), needs, turnover_of(task));
}

Entry equal_stack_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  const auto size = equal_stack(needs, paper_cell_bits, paper_cell_bits);
  if (!size) return no_stack(std::move(name));
  return stack_of(std::move(name), size->shape, size->known, needs, turnover_of(task));
}

// One rate for all layers still; layer 2, which does not change, may have narrower cells.
Entry best_equal_stack_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  const auto keys = static_cast<double>(needs.keys), known = static_cast<double>(needs.known);
  std::optional<build::StackSize> best;
  for (const unsigned width : widths_tried)
    for (const unsigned second : {1u, width}) {
      auto size = equal_stack(needs, width, second);
      if (!size) continue;
      filter::StackedCountingShape &shape = size->shape;
      const double passing = keys * CountingBloom::rate(shape.negatives, known);
      shape.positives = with_best_hashes(shape.positives, keys, turnover_of(task));
      shape.settled = with_best_hashes(shape.settled, passing, turnover_of(task));
      size->weighted =
          plan::forecast_stack(shape, keys, known, turnover_of(task)).weighted(needs.mass[needs.known]);
      if (!best || size->weighted < best->weighted) best = std::move(size);
    }
  if (!best) return no_stack(std::move(name));
  return stack_of(std::move(name), best->shape, best->known, needs, turnover_of(task));
}

Entry best_stack_entry(const SeesawTask &task, const Needs &needs, std::string name) {
  const auto plan = plan::size_allow_stack({.keys = needs.keys,
                                            .bits_total = needs.bits,
                                            .costs = known_costs(needs),
                                            .turnover = turnover_of(task)});
  if (!plan) return no_stack(std::move(name));
  return stack_of(std::move(name), plan->params.shape, plan->known, needs, turnover_of(task));
}

Entry cuckoo_entry(const SeesawTask &, const Needs &needs, std::string name) {
  const auto shape = filter::CuckooFilter::shape_for(needs.keys, needs.bits);
  Entry entry{std::move(name), {}, 0, {}, "no fingerprint fits", {}};
  if (!shape) return entry;
  const double rate = filter::cuckoo_rate(*shape, needs.keys);
  entry.predicted = {rate, rate, rate, rate};
  entry.shape =
      fmt::format("{} buckets of four fingerprints of {} bits", shape->buckets, shape->fingerprint_bits);
  entry.make = [shape = *shape](std::span<const KeyHash>) {
    return wrapped(filter::CuckooFilter::make(shape));
  };
  return entry;
}

} // namespace weir::lab
