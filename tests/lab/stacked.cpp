// One stack and one plain filter: sized, built, asked by the whole universe, and timed by turns.
#include "tests/lab/clock.hpp"
#include "tests/lab/stacked_workload.hpp"
#include "tests/support/standings.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <chrono>

namespace weir::lab {
namespace {

constexpr std::size_t questions_max = 200'000;
constexpr unsigned rounds = 15;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Filter, class Visit>
void for_each_accepted(const Filter &filter, std::span<const KeyHash> keys, Visit visit) {
  for (std::size_t at = 0; at < keys.size(); at += filter::batch_max) {
    const auto batch = keys.subspan(at, std::min(filter::batch_max, keys.size() - at));
    for (filter::HitMask hits = filter.contains_batch(batch); hits != 0; hits &= hits - 1)
      visit(at + static_cast<std::size_t>(std::countr_zero(hits)));
  }
}
template <class Filter> std::uint64_t accepted(const Filter &filter, std::span<const KeyHash> keys) {
  std::uint64_t count = 0;
  for_each_accepted(filter, keys, [&](std::size_t) { ++count; });
  return count;
}
template <class Filter> double share_accepted(const Filter &filter, std::span<const KeyHash> keys) {
  return keys.empty() ? 0 : static_cast<double>(accepted(filter, keys)) / static_cast<double>(keys.size());
}
// Share of the negative questions answered wrongly, over the whole universe. `elsewhere`: of keys outside it.
template <class Filter> double weighted(const Filter &filter, const Universe &universe, double elsewhere) {
  double all = 0, wrong = 0;
  for (std::size_t at = 0; at < universe.negatives.size(); ++at) all += universe.weight(at);
  for_each_accepted(filter, universe.negatives, [&](std::size_t at) { wrong += universe.weight(at); });
  return universe.psi() * wrong / all + (1 - universe.psi()) * elsewhere;
}

// ---- times -----------------------------------------------------------------------------------------

volatile std::uint64_t answers; // keeps the questions from being left out

template <class Filter> double ns_for_one(const Filter &filter, std::span<const KeyHash> keys) {
  const double start = cpu_ns();
  answers = accepted(filter, keys);
  return (cpu_ns() - start) / static_cast<double>(std::max<std::size_t>(keys.size(), 1));
}

// Evenly from all of them.
std::vector<KeyHash> some_of(std::span<const KeyHash> keys) {
  const std::size_t step = std::max<std::size_t>(1, keys.size() / questions_max);
  std::vector<KeyHash> some;
  for (std::size_t i = 0; i < keys.size() && some.size() < questions_max; i += step) some.push_back(keys[i]);
  return some;
}

struct Pair {
  double stack = 0, plain = 0;
};

// Medians over rounds; who begins changes with each.
template <class Stack, class Plain>
std::vector<Pair> time_both(const Stack &stack, const Plain &plain,
                            std::span<const std::vector<KeyHash>> questions) {
  std::vector<std::vector<double>> of_stack(questions.size()), of_plain(questions.size());
  for (unsigned round = 0; round < rounds; ++round)
    for (std::size_t kind = 0; kind < questions.size(); ++kind)
      for (const bool stack_now : {round % 2 == 0, round % 2 != 0})
        (stack_now ? of_stack : of_plain)[kind].push_back(stack_now ? ns_for_one(stack, questions[kind])
                                                                    : ns_for_one(plain, questions[kind]));
  std::vector<Pair> medians;
  for (std::size_t kind = 0; kind < questions.size(); ++kind)
    medians.push_back(questions[kind].empty() ? Pair{}
                                              : Pair{bench::figure_of(of_stack[kind]).median,
                                                     bench::figure_of(of_plain[kind]).median});
  return medians;
}

template <class Stack, class Plain>
void time_queries(const Stack &stack, const Plain &plain, const Universe &universe, StackedReport &report) {
  const auto known = static_cast<std::size_t>(report.plan.known);
  const std::array questions{some_of(universe.positives), some_of(std::span(universe.negatives).first(known)),
                             some_of(universe.unseen)};
  const std::vector<Pair> ns = time_both(stack, plain, questions);
  report.ns = {ns[0].stack, ns[1].stack, ns[2].stack};
  report.plain_ns = {ns[0].plain, ns[1].plain, ns[2].plain};
}

// The workload itself, hot keys as often as they come.
template <class Stack, class Plain>
void time_workload(const Stack &stack, const Plain &plain, const Universe &universe, StackedReport &report) {
  std::vector<std::vector<KeyHash>> questions;
  for (const double share : report.task.positive_shares)
    questions.push_back(universe.questions(questions_max, share));
  const std::vector<Pair> ns = time_both(stack, plain, questions);
  for (std::size_t i = 0; i < ns.size(); ++i) {
    const double share = report.task.positive_shares[i];
    report.costs.push_back({share,
                            {ns[i].stack, share + (1 - share) * report.efpr_by_class},
                            {ns[i].plain, share + (1 - share) * report.plain_by_class}});
  }
}

// ---- the experiment ----------------------------------------------------------------------------------

// The best plain filter that fits into as many bits as the stack really has.
template <class Odd>
Result<Odd> plain_filter(const StackedTask &task, const Universe &universe, std::uint64_t bits) {
  const auto shape = std::optional<typename Odd::Shape>(
      Odd::shape_for(static_cast<double>(task.positives), bits - 8 * sizeof(filter::FilterHeader)));
  if (!shape) return fail(Errc::refused, "no plain filter is that small");
  return build::build_layer<Odd>(*shape, 1, universe.positives, task.seed);
}

template <class Odd, class Even> Status run_with(StackedReport &report) {
  const StackedTask &task = report.task;
  const Universe universe(task);
  const auto known = std::span(universe.negatives).first(static_cast<std::size_t>(report.plan.known));
  const auto start = std::chrono::steady_clock::now();
  const auto built = build::build_stack<Odd, Even>(static_cast<unsigned>(report.plan.layers.size()),
                                                   build::PlannedShapes(report.plan.layers),
                                                   universe.positives, known, task.seed);
  report.build_seconds = seconds_since(start);
  if (!built) return std::unexpected(built.error());
  const auto &stack = built->stack;

  const double positives = static_cast<double>(task.positives);
  const std::uint64_t bits = 8 * build::stack_section_bytes(stack);
  report.bits_per_key = static_cast<double>(bits) / positives;
  for (std::size_t i = 0; i < stack.depth(); ++i)
    report.layers.push_back({report.plan.layers[i].expected, built->counts.keys[i],
                             i % 2 == 0 ? stack.odd()[i / 2].bits() : stack.even()[i / 2].bits()});
  if (accepted(stack, universe.positives) != task.positives)
    return fail(Errc::io, "the stack misses keys that are present");
  report.efpb = share_accepted(stack, universe.unseen);
  report.efpr = weighted(stack, universe, report.efpb);
  report.efpr_by_class = report.plan.psi * share_accepted(stack, known) + (1 - report.plan.psi) * report.efpb;

  const auto plain = TRY(plain_filter<Odd>(task, universe, bits));
  report.plain_bits_per_key = static_cast<double>(8 * plain.section().size()) / positives;
  report.plain_by_class = share_accepted(plain, universe.unseen);
  report.plain_fpr = weighted(plain, universe, report.plain_by_class);
  if (task.timing) time_queries(stack, plain, universe, report);
  if (task.timing && !task.iops.empty()) time_workload(stack, plain, universe, report);
  return {};
}

template <class Odd> Status run_over(StackedReport &report) {
  return report.task.fuse_below ? run_with<Odd, build::BinaryFuse>(report) : run_with<Odd, Odd>(report);
}

Status run_base(StackedReport &report) {
  switch (report.task.base) {
  case plan::StackBase::bloom: return run_over<filter::Bloom>(report);
  case plan::StackBase::cuckoo: return run_over<filter::CuckooFilter>(report);
  case plan::StackBase::quotient: return run_over<filter::QuotientFilter>(report);
  case plan::StackBase::fuse: return run_with<build::BinaryFuse, build::BinaryFuse>(report);
  case plan::StackBase::split_block: return run_over<filter::SplitBlockFilter>(report);
  }
  return fail(Errc::usage, "no such base filter");
}

plan::StackTask planning(const StackedTask &task) {
  plan::StackTask wanted;
  const double rest = (1 - task.psi.value_or(1)) * static_cast<double>(task.negatives); // of the questions
  wanted.base = task.base;
  wanted.fuse_below = task.fuse_below;
  wanted.positives = static_cast<double>(task.positives);
  wanted.negatives = task.psi ? plan::CostCurve::of(std::vector<double>(task.negatives, *task.psi), rest)
                              : plan::CostCurve::zipf(task.negatives, task.zipf);
  if (task.efpr)
    wanted.rate_max = task.efpr;
  else
    wanted.bits_total = task.bits * wanted.positives;
  wanted.efpb_max = task.efpb_max;
  wanted.weight = task.weight;
  wanted.depth_max = task.depth_max;
  wanted.known_max = task.known_max.value_or(task.negatives);
  wanted.seed = task.seed;
  return wanted;
}

} // namespace

Result<StackedReport> run_stacked(const StackedTask &task) {
  StackedReport report;
  report.task = task;
  const auto start = std::chrono::steady_clock::now();
  auto planned = plan::size_stack(planning(task));
  report.optimiser_seconds = seconds_since(start);
  if (!planned) return std::unexpected(planned.error());
  report.plan = std::move(*planned);
  TRY(run_base(report));
  return report;
}

} // namespace weir::lab
