#include "control/plan/judge.hpp"

#include "control/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::plan {
namespace {

// The form that is asked fastest first: each next one has to save something.
constexpr std::array candidates{
    DenyForm::split_block, DenyForm::bloom,    DenyForm::fuse,  DenyForm::chained_and_shared,
    DenyForm::chained_and, DenyForm::quotient, DenyForm::cuckoo};

// A form that takes no hosts in place needs no room for them.
std::uint64_t positives_of(const DenyFilterPlan &plan, DenyForm form) {
  return facts_of(form).in_place ? plan.planned_keys : plan.keys;
}

// With more known negatives than were chosen the even layers grow, and nothing else does.
double bits_of_more_known(const StackPlan &stack, double more) {
  double bits = 0;
  for (std::size_t i = 1; i < stack.layers.size(); i += 2) bits += stack.layers[i].bits;
  return stack.known > 0 ? bits * more / stack.known : 0;
}

struct Limits {
  std::optional<double> rate_max, bits_total;
};

Result<StackPlan> size_form(const DenyFilterPlan &plan, DenyForm form, const Limits &limits, double allowed) {
  if (const auto base = facts_of(form).layers) {
    StackTask task = stack_task(plan, *base, positives_of(plan, form));
    task.efpb_max = plan.unknown_budget;
    task.rate_max = limits.rate_max;
    task.bits_total = limits.bits_total;
    auto stack = size_stack(task);
    const double more = stack ? bits_of_more_known(*stack, allowed) : 0;
    if (more > 0 && limits.bits_total) {
      task.bits_total = std::max(*limits.bits_total - more, *limits.bits_total / 2);
      stack = size_stack(task);
      if (stack) stack->bits += bits_of_more_known(*stack, allowed);
    } else if (stack) {
      stack->bits += more;
    }
    return stack;
  }
  ChainTask task = chain_task(plan, form, allowed);
  task.efpb_max = plan.unknown_budget;
  task.rate_max = limits.rate_max;
  task.bits_total = limits.bits_total;
  return size_chained(task);
}

struct Sized {
  StackPlan stack;
  std::optional<double> needed_bits; // for both budgets, when there is less
};

// The least memory that keeps both budgets, or the fewest errors in what there is.
Result<Sized> size_judge(const DenyFilterPlan &plan, const config::Compact &compact, DenyForm form,
                         double allowed) {
  auto cheapest =
      size_form(plan, form, {.rate_max = compact.false_positive_budget, .bits_total = {}}, allowed);
  const double bits_max = 8 * as_double(compact.memory_bytes.value_or(0));
  if (!compact.memory_bytes || (cheapest && cheapest->bits <= bits_max)) {
    if (!cheapest) return std::unexpected(cheapest.error());
    return Sized{std::move(*cheapest), {}};
  }
  auto best = size_form(plan, form, {.rate_max = {}, .bits_total = bits_max}, allowed);
  if (!best) return std::unexpected(best.error());
  return Sized{std::move(*best), cheapest ? std::optional(cheapest->bits) : std::nullopt};
}

bool keeps(const DenyFilterPlan &plan, const StackPlan &stack) {
  return stack.efpr <= plan.false_positive_budget * 1.001;
}

// Fewer bits when both keep the budget, else fewer errors.
bool is_better(const DenyFilterPlan &plan, const StackPlan &one, const StackPlan &than) {
  if (keeps(plan, one) != keeps(plan, than)) return keeps(plan, one);
  return keeps(plan, one) ? one.bits < than.bits * (1 - form_saving_min)
                          : one.efpr < than.efpr * (1 - form_saving_min);
}

bool is_left_open(DenyForm form, config::Judge judge) {
  return judge == config::Judge::automatic || facts_of(form).judge == judge;
}

// Bits of the smallest filter without anything known that keeps unknown_budget.
std::optional<double> least_bits(const DenyFilterPlan &plan, config::Judge judge) {
  std::optional<double> least;
  for (const DenyForm form : candidates) {
    if (!facts_of(form).built || !is_left_open(form, judge)) continue;
    DenyFilterPlan nobody = plan;
    nobody.known_cost.clear();
    const auto stack = size_form(nobody, form, {.rate_max = plan.unknown_budget, .bits_total = {}}, 0);
    if (stack && (!least || stack->bits < *least)) least = stack->bits;
  }
  return least;
}

Error too_small(const DenyFilterPlan &plan, const config::Config &config) {
  const config::Compact &compact = *config.compact;
  const auto least = least_bits(plan, compact.judge);
  const std::string needed =
      least ? fmt::format("about {} are needed", human_bytes(static_cast<std::uint64_t>(*least / 8)))
            : std::string("no filter does");
  return {Errc::refused,
          fmt::format(
              "{}:{}: mode.compact.memory: {} is too little for {} denied hosts, so that an unknown source "
              "is denied in error at most {:g} of the time: {}; allow more memory or a larger "
              "unknown_budget, or write mode: exact",
              config.source.string(), std::max(compact.line, 1),
              human_bytes(compact.memory_bytes.value_or(0)), plan.keys, compact.unknown_budget, needed)};
}

// ---- in words ----------------------------------------------------------------------------------

std::string what_it_knows(const DenyFilterPlan &plan) {
  if (plan.known_cost.empty())
    return fmt::format("samples name no source often enough yet ({:.0f} samples)", plan.samples);
  return fmt::format("the {:.0f} hottest of the sources that nothing denies ask {} of the questions",
                     plan.stack.known, percent(plan.stack.psi));
}

std::string shape_words(const DenyFilterPlan &plan) {
  if (!facts_of(plan.form).layers)
    return fmt::format("{} bits of fingerprint and an exact stage: {}", plan.stack.layers[0].digits,
                       what_it_knows(plan));
  if (plan.stack.layers.size() > 1)
    return fmt::format("{} layers: {}", plan.stack.layers.size(), what_it_knows(plan));
  return "one layer: " +
         (plan.known_cost.empty() ? what_it_knows(plan) : std::string("more would cost more than they save"));
}

// Why this one: what it needs, or errs, beside the best that was not taken.
std::string why_taken(const DenyFilterPlan &plan) {
  const DenyFilterPlan::Tried *other = nullptr;
  const bool by_bits = keeps(plan, plan.stack);
  for (const DenyFilterPlan::Tried &t : plan.tried) {
    if (t.chosen || t.bits == 0) continue;
    const bool t_keeps = t.efpr <= plan.false_positive_budget * 1.001;
    if (by_bits && !t_keeps) continue;
    if (other == nullptr || (by_bits ? t.bits < other->bits : t.efpr < other->efpr)) other = &t;
  }
  if (other == nullptr) return by_bits ? "no other keeps the budgets" : "no other has a size";
  return by_bits ? fmt::format("{:.2f} bits a host, {:.2f} with {}", plan.bits_per_key(), other->bits_per_key,
                               name_of(other->form))
                 : fmt::format("{} in error, {} with {}", percent(plan.stack.efpr), percent(other->efpr),
                               name_of(other->form));
}

std::string why_compact(const DenyFilterPlan &plan, config::Judge judge) {
  std::string why = fmt::format(
      "{} of {}; {}", name_of(plan.form), shape_words(plan),
      judge == config::Judge::automatic ? why_taken(plan) : std::string("the configuration asks for it"));
  if (!plan.keeps_budget())
    why += fmt::format("; {} in error are more than false_positive_budget: {}{}", percent(plan.stack.efpr),
                       percent(plan.false_positive_budget),
                       plan.needed_bits
                           ? fmt::format(", which would take {}",
                                         human_bytes(static_cast<std::uint64_t>(*plan.needed_bits / 8)))
                           : std::string());
  return why;
}

// Of one that has sizes and was not taken.
std::string why_not(const DenyFilterPlan &plan, const DenyFilterPlan::Tried &tried) {
  const bool tried_keeps = tried.efpr <= plan.false_positive_budget * 1.001;
  if (keeps(plan, plan.stack) && !tried_keeps) return "it does not keep false_positive_budget";
  const double worse = keeps(plan, plan.stack) ? tried.bits / plan.stack.bits : tried.efpr / plan.stack.efpr;
  const char *what = keeps(plan, plan.stack) ? "memory" : "errors";
  if (worse > 1) return fmt::format("{:.3g} times the {}", worse, what);
  return fmt::format("saves {} of the {}, and is asked more slowly", percent(1 - worse), what);
}

} // namespace

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

CostCurve curve_of(const DenyFilterPlan &plan) {
  std::vector<double> costs;
  double known = 0;
  for (const workload::HotSource &source : plan.known_cost) known += costs.emplace_back(source.cost);
  return CostCurve::of(costs, std::max(plan.samples - known, costs.empty() ? 1.0 : 0.0));
}

StackTask stack_task(const DenyFilterPlan &plan, StackBase base, std::uint64_t positives) {
  StackTask task{.base = base,
                 .fuse_below = false,
                 .positives = as_double(positives),
                 .negatives = curve_of(plan),
                 .bits_total = {},
                 .rate_max = {},
                 .price = {}};
  task.known_max = as_double(plan.known_cost.size());
  if (plan.known_cost.empty()) task.depth_max = 1;
  return task;
}

ChainTask chain_task(const DenyFilterPlan &plan, DenyForm form, double more_known) {
  return {.shared = form == DenyForm::chained_and_shared,
          .positives = as_double(plan.keys),
          .negatives = curve_of(plan),
          .known_max = as_double(plan.known_cost.size()),
          .more_known = more_known,
          .rate_max = {},
          .bits_total = {}};
}

Status choose_judge(DenyFilterPlan &plan, const DenyFilterTask &task, double allowed) {
  const config::Compact &compact = *task.config.compact;
  const bool v6 = task.input.deny.v6.size() > task.input.deny.v4.size();
  std::uint64_t planned = plan.planned_keys;
  for (const DenyForm form : candidates) {
    DenyFilterPlan::Tried tried{.form = form, .why_not = {}};
    auto sized = size_judge(plan, compact, form, allowed);
    if (!sized) {
      tried.why_not = sized.error().message;
      plan.tried.push_back(std::move(tried));
      continue;
    }
    StackPlan &s = sized->stack;
    const std::uint64_t positives = positives_of(plan, form);
    tried.bits = s.bits;
    tried.bits_per_key = s.bits / as_double(positives);
    tried.efpr = s.efpr, tried.efpb = s.efpb, tried.known_rate = s.known_rate;
    tried.depth = facts_of(form).layers ? static_cast<unsigned>(s.layers.size()) : 1;
    tried.ns = judge_ns(form, s, v6 ? Family::ipv6 : Family::ipv4, task.hit_ratio, task.calibration);
    const bool may_be = facts_of(form).built && is_left_open(form, compact.judge);
    if (!facts_of(form).built)
      tried.why_not = "the packet path asks no such layers: sized to be compared";
    else if (!may_be)
      tried.why_not = "the configuration asks for another";
    plan.tried.push_back(std::move(tried));
    if (!may_be || (plan.stacks() && !is_better(plan, s, plan.stack))) continue;
    plan.form = form;
    plan.stack = std::move(s);
    plan.needed_bits = sized->needed_bits;
    planned = positives;
  }
  if (!plan.stacks()) return std::unexpected(too_small(plan, task.config));
  plan.planned_keys = planned;
  for (DenyFilterPlan::Tried &tried : plan.tried) {
    tried.chosen = tried.form == plan.form;
    if (tried.chosen) plan.ns = tried.ns;
    if (!tried.chosen && tried.why_not.empty()) tried.why_not = why_not(plan, tried);
  }
  plan.chosen = name_of(facts_of(plan.form).judge);
  plan.why = why_compact(plan, compact.judge);
  return {};
}

void show_chained_front(DenyFilterPlan &plan, const DenyFilterTask &task, Family family, const Sizes &sizes) {
  if (!plan.stacks()) return;
  plan.tried.push_back({.form = plan.form,
                        .bits = plan.stack.bits,
                        .bits_per_key = plan.bits_per_key(),
                        .efpr = plan.stack.efpr,
                        .efpb = plan.stack.efpb,
                        .known_rate = plan.stack.known_rate,
                        .ns = plan.ns,
                        .depth = static_cast<unsigned>(plan.stack.layers.size()),
                        .chosen = true,
                        .why_not = {}});
  DenyFilterPlan::Tried chain{.form = DenyForm::chained_and, .why_not = {}};
  ChainTask chained = chain_task(plan, chain.form, 0);
  chained.bits_total = plan.stack.bits;
  const auto stack = size_chained(chained);
  if (!stack) {
    chain.why_not = stack.error().message;
    plan.tried.push_back(std::move(chain));
    return;
  }
  chain.bits = stack->bits;
  chain.bits_per_key = stack->bits / as_double(plan.keys);
  chain.efpr = stack->efpr, chain.efpb = stack->efpb, chain.known_rate = stack->known_rate;
  chain.depth = 1;
  const double h = std::clamp(task.hit_ratio, 0.0, 1.0), asks = h + (1 - h) * stack->efpr;
  chain.ns =
      judge_ns(chain.form, *stack, family, h, task.calibration) + tables_ns(asks, h, sizes, task.calibration);
  chain.why_not = "sized to be compared: it changes in no place, and reads four lines of an absent key";
  plan.tried.push_back(std::move(chain));
}

} // namespace weir::plan
