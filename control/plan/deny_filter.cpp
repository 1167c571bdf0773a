#include "control/plan/deny_filter.hpp"

#include "control/plan/plan.hpp"
#include "control/plan/side.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/split_block_bloom.hpp"
#include "weir/image/family_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weir::plan {
namespace {

// Those that an image has a form for, the one that is asked fastest first, the one that does not change in
// place last: each next one has to save something.
constexpr std::array bases{StackBase::split_block, StackBase::bloom, StackBase::fuse};
constexpr double base_saving_min = 0.05;
// Allowed hosts among the known negatives: so many at most, or a quarter of the keys.
constexpr std::uint64_t allowed_least = 4096;

double as_double(std::uint64_t count) { return static_cast<double>(count); }

// ---- known negatives ---------------------------------------------------------------------------

// Sources of samples, the hottest first, without those that a list denies by now, or that are never asked
// about.
void take_hot(DenyFilterPlan &plan, const DenyFilterTask &task) {
  plan.asked_cells.assign(table::length_map_cells, false);
  for (const build::EntryV4 &e : task.input.deny.v4)
    if (e.length == 32) plan.asked_cells[e.host >> 16] = true;
  const Covers denied(task.input.deny);
  plan.samples = task.negatives.total;
  for (const workload::HotSource &source : task.negatives.hottest) {
    const Address &a = source.address;
    if (a.family == Family::ipv4 && !plan.asked_cells[a.host() >> 16])
      plan.samples -= source.cost;
    else if (denied(a))
      ++plan.denied, plan.samples -= source.cost;
    else
      plan.known_cost.push_back(source);
  }
}

// Hosts of the allow side that are no keys: they are exempt by its tables anyhow, so that of very many a part
// will do.
std::vector<Address> allowed_hosts(const DenyFilterTask &task, std::uint64_t most) {
  std::vector<Address> hosts;
  const auto take = [&](const Prefix &p) {
    if (hosts.size() < most && p.length == address_bits(p.family()) && !holds(task.input.deny, p))
      hosts.push_back(p.address);
  };
  for (const build::EntryV4 &e : task.input.allow.v4) take(rules::to_prefix(e));
  for (const build::EntryV6 &e : task.input.allow.v6) take(rules::to_prefix(e));
  return hosts;
}

// The hottest so many, as the plan has it, then those that are never to be hit, or not again.
void list_known(DenyFilterPlan &plan, const DenyFilterTask &task, const std::vector<Address> &allowed) {
  const bool layers = plan.stack.layers.size() > 1;
  plan.hot =
      layers ? std::min<std::uint64_t>(static_cast<std::uint64_t>(plan.stack.known), plan.known_cost.size())
             : 0;
  plan.known_cost.resize(plan.hot);
  if (!layers) return;
  std::set<Address> there;
  const auto take = [&](const Address &address) {
    if (there.insert(address).second) plan.known.push_back(address);
  };
  for (const workload::HotSource &source : plan.known_cost) take(source.address);
  for (const Address &address : allowed) take(address);
  const Covers denied(task.input.deny);
  for (const Address &address : task.negatives.denied_wrongly)
    if (!denied(address)) take(address);
  plan.known_count = plan.known.size();
}

// ---- sizes -------------------------------------------------------------------------------------

CostCurve curve_of(const DenyFilterPlan &plan) {
  std::vector<double> costs;
  double known = 0;
  for (const workload::HotSource &source : plan.known_cost) known += costs.emplace_back(source.cost);
  return CostCurve::of(costs, std::max(plan.samples - known, costs.empty() ? 1.0 : 0.0));
}

StackTask stack_task(const DenyFilterPlan &plan, StackBase base) {
  StackTask task{.base = base,
                 .fuse_below = false,
                 .positives = as_double(plan.planned_keys),
                 .negatives = curve_of(plan),
                 .bits_total = {},
                 .rate_max = {},
                 .price = {}};
  task.known_max = as_double(plan.known_cost.size());
  if (plan.known_cost.empty()) task.depth_max = 1;
  return task;
}

// With more known negatives than were chosen the even layers grow, and nothing else does.
double bits_of_more_known(const StackPlan &stack, double more) {
  double bits = 0;
  for (std::size_t i = 1; i < stack.layers.size(); i += 2) bits += stack.layers[i].bits;
  return stack.known > 0 ? bits * more / stack.known : 0;
}

struct Sized {
  StackPlan stack;
  std::optional<double> needed_bits; // for both budgets, when there is less
};

Result<Sized> size_compact(const DenyFilterPlan &plan, const config::Compact &compact, StackBase base,
                           double allowed) {
  StackTask task = stack_task(plan, base);
  task.efpb_max = compact.unknown_budget;
  task.rate_max = compact.false_positive_budget;
  auto cheapest = size_stack(task);
  if (cheapest) cheapest->bits += bits_of_more_known(*cheapest, allowed);
  const double bits_max = 8 * as_double(compact.memory_bytes.value_or(0));
  if (!compact.memory_bytes || (cheapest && cheapest->bits <= bits_max)) {
    if (!cheapest) return std::unexpected(cheapest.error());
    return Sized{std::move(*cheapest), {}};
  }
  task.rate_max.reset();
  task.bits_total = bits_max;
  auto best = size_stack(task);
  if (const double more = best ? bits_of_more_known(*best, allowed) : 0; more > 0) {
    task.bits_total = std::max(bits_max - more, bits_max / 2);
    best = size_stack(task);
    if (best) best->bits += bits_of_more_known(*best, allowed);
  }
  if (!best) return std::unexpected(best.error());
  return Sized{std::move(*best), cheapest ? std::optional(cheapest->bits) : std::nullopt};
}

Error too_small(const DenyFilterPlan &plan, const config::Config &config) {
  const config::Compact &compact = *config.compact;
  StackTask task = stack_task(plan, StackBase::bloom);
  task.depth_max = 1;
  task.rate_max = compact.unknown_budget;
  const auto least = size_stack(task);
  const std::string needed =
      least ? fmt::format("about {} are needed", human_bytes(static_cast<std::uint64_t>(least->bits / 8)))
            : std::string("no filter does");
  return {Errc::refused,
          fmt::format(
              "{}:{}: mode.compact.memory: {} is too little for {} denied hosts, so that an unknown source "
              "is denied in error at most {:g} of the time: {}; allow more memory or a larger "
              "unknown_budget, or write mode: exact",
              config.source.string(), std::max(compact.line, 1),
              human_bytes(compact.memory_bytes.value_or(0)), plan.planned_keys, compact.unknown_budget,
              needed)};
}

// Fewer bits when both keep the budget, else fewer errors.
bool is_better(const DenyFilterPlan &plan, const StackPlan &one, const StackPlan &than) {
  const auto keeps = [&](const StackPlan &s) { return s.efpr <= plan.false_positive_budget * 1.001; };
  if (keeps(one) != keeps(than)) return keeps(one);
  return keeps(one) ? one.bits < than.bits * (1 - base_saving_min)
                    : one.efpr < than.efpr * (1 - base_saving_min);
}

Status choose_base(DenyFilterPlan &plan, const config::Config &config, double allowed) {
  const bool changes = std::ranges::any_of(
      config.lists, [](const config::List &list) { return list.action == Side::deny && list.dynamic; });
  for (const StackBase base : bases) {
    if (base == StackBase::fuse && changes) {
      plan.tried.push_back({.base = base, .why_not = "a list is dynamic, and it takes no additions"});
      continue;
    }
    auto sized = size_compact(plan, *config.compact, base, allowed);
    if (!sized) {
      plan.tried.push_back({.base = base, .why_not = sized.error().message});
      continue;
    }
    const StackPlan &s = sized->stack;
    plan.tried.push_back({base, s.bits, s.efpr, s.efpb, static_cast<unsigned>(s.layers.size()), false, {}});
    if (plan.stacks() && !is_better(plan, s, plan.stack)) continue;
    plan.base = base;
    plan.stack = std::move(sized->stack);
    plan.needed_bits = sized->needed_bits;
  }
  if (!plan.stacks()) return std::unexpected(too_small(plan, config));
  for (DenyFilterPlan::Tried &tried : plan.tried) {
    tried.chosen = tried.base == plan.base;
    if (!tried.chosen && tried.why_not.empty()) tried.why_not = "saves too little, or nothing";
  }
  return {};
}

void advise(DenyFilterPlan &plan, double rate) {
  plan.advice_rate = rate;
  if (plan.samples < as_double(workload_samples_min) || plan.known_cost.empty()) return;
  if (auto advice = advise_stack(plan.base, as_double(plan.planned_keys), curve_of(plan), rate))
    plan.advice = std::move(*advice);
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string why_compact(const DenyFilterPlan &plan) {
  std::string why =
      plan.stack.layers.size() == 1
          ? (plan.known_cost.empty()
                 ? fmt::format("one layer: samples name no source often enough yet ({:.0f} samples)",
                               plan.samples)
                 : std::string("one layer: more would cost more than they save"))
          : fmt::format(
                "{} layers: the {} hottest of the sources that nothing denies ask {} of the questions",
                plan.stack.layers.size(), plan.hot, percent(plan.stack.psi));
  if (!plan.keeps_budget())
    why += fmt::format("; {} in error are more than false_positive_budget: {}{}", percent(plan.stack.efpr),
                       percent(plan.false_positive_budget),
                       plan.needed_bits
                           ? fmt::format(", which would take {}",
                                         human_bytes(static_cast<std::uint64_t>(*plan.needed_bits / 8)))
                           : std::string());
  return why;
}

// Room for what `list add` brings until the next image.
void count_keys(DenyFilterPlan &plan, std::uint64_t keys) {
  constexpr std::uint64_t room_for_more = 64;
  plan.keys = keys;
  plan.planned_keys = keys + keys / 8 + room_for_more;
}

Result<DenyFilterPlan> plan_compact(const DenyFilterTask &task) {
  DenyFilterPlan plan;
  plan.compact = true;
  plan.false_positive_budget = task.config.compact->false_positive_budget;
  plan.unknown_budget = task.config.compact->unknown_budget;
  plan.spared = task.config.guard.never_deny;
  count_keys(plan, hosts_of(task.input.deny));
  if (plan.keys == 0) {
    plan.why = "no list denies a host";
    return plan;
  }
  take_hot(plan, task);
  advise(plan, plan.false_positive_budget);
  const std::vector<Address> allowed = allowed_hosts(task, std::max(allowed_least, plan.keys / 4));
  TRY(choose_base(plan, task.config, as_double(allowed.size())));
  plan.chosen = "stacked";
  plan.why = why_compact(plan);
  list_known(plan, task, allowed);
  return plan;
}

// In front of tables: the bits that a split-block filter would take.
Result<DenyFilterPlan> plan_front(const DenyFilterTask &task) {
  DenyFilterPlan plan;
  count_keys(plan, hosts_of(task.input.deny));
  if (plan.keys == 0) {
    plan.why = "no list denies a host";
    return plan;
  }
  // The one that a burst is asked about fastest, or the only one that the target has.
  plan.base = task.input.target() == build::Target::p4 ? StackBase::bloom : StackBase::split_block;
  take_hot(plan, task);
  const std::uint32_t blocks =
      filter::SplitBlockBloom::blocks_for(plan.planned_keys, build::front_bits_per_key);
  advise(plan, filter::split_block_bloom_rate(plan.planned_keys, blocks));
  StackTask sizes = stack_task(plan, plan.base);
  if (task.input.target() == build::Target::p4)
    sizes.depth_max = std::min(sizes.depth_max, image::jhash_stack_layers_max);
  constexpr double bits_min = 8 * 4096; // below a page there is nothing to save
  sizes.bits_total = std::max(8.0 * sizeof(filter::Block) * blocks, bits_min);
  plan.stack = TRY(size_stack(sizes));
  list_known(plan, task, {});
  return plan;
}

} // namespace

Result<DenyFilterPlan> plan_deny_filter(const DenyFilterTask &task) {
  if (task.config.compact) return plan_compact(task);
  if (task.config.front_filter != config::FrontFilter::stacked) return DenyFilterPlan{};
  auto plan = plan_front(task);
  if (plan && plan->stacks()) plan->chosen = "stacked", plan->why = "the configuration says so";
  return plan;
}

double front_stack_ns(const StackPlan &stack, Family family, const Sizes &sizes, double hit_ratio,
                      const Calibration &calibration) {
  const auto bytes = static_cast<std::uint64_t>(stack.bits / 8);
  const Option plain{}, front{.front_filter = FrontFilter::split_block_bloom};
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  const double work = calibration.work_of(family, plain).at(h);
  const double layer_work = std::max(calibration.work_of(family, front).at(h) - work, 0.0);
  const double line = calibration.touch_ns(Path::block, bytes);
  // A layer that rejects reads two lines at most, one that accepts a line for each of its functions.
  const std::vector<double> rates = stack.rates();
  const auto cost_of_layers = [&](auto reaches_next) {
    double reaching = 1, ns = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double functions = std::max(2.0, std::round(-std::log2(rates[i]))), accepts = reaches_next(i);
      ns += reaching * (layer_work + line * (accepts * functions + (1 - accepts) * 2));
      reaching *= accepts;
    }
    return ns;
  };
  const double positive = cost_of_layers([&](std::size_t i) { return i % 2 == 0 ? 1.0 : rates[i]; });
  const double known = cost_of_layers([&](std::size_t i) { return i % 2 == 0 ? rates[i] : 1.0; });
  const double unknown = cost_of_layers([&](std::size_t i) { return rates[i]; });
  const double filter = h * positive + (1 - h) * (stack.psi * known + (1 - stack.psi) * unknown);
  const double asks = h + (1 - h) * stack.efpr;
  const double second = h * (sizes.lines.hit - 1) + (asks - h) * (sizes.lines.absent - 1);
  return work + filter + asks * calibration.touch_ns(Path::line, sizes.inline_bits.bytes1) +
         (sizes.keys == 0 ? 0 : second * calibration.touch_ns(Path::line, sizes.inline_bits.bytes2));
}

DenyFilterPlan weigh_front_stack(const DenyFilterTask &task, const Cost &chosen,
                                 const Calibration &calibration) {
  DenyFilterPlan none;
  const build::SideInput &deny = task.input.deny;
  if (task.config.front_filter == config::FrontFilter::none ||
      task.config.front_filter == config::FrontFilter::split_block_bloom) {
    none.why = "the configuration asks for another front filter";
    return none;
  }
  if (task.negatives.total < as_double(workload_samples_min)) {
    none.samples = task.negatives.total;
    none.why = fmt::format("too few samples of what nothing denies: {:.0f}, and {} say something",
                           task.negatives.total, workload_samples_min);
    return none;
  }
  auto plan = plan_front(task);
  if (!plan || !plan->stacks()) {
    none.why = plan ? plan->why : plan.error().message;
    return none;
  }
  const Family family = deny.v6.size() > deny.v4.size() ? Family::ipv6 : Family::ipv4;
  const Sizes sizes = sizes_of(family, std::max(deny.v4.size(), deny.v6.size()));
  plan->ns = front_stack_ns(plan->stack, family, sizes, task.hit_ratio, calibration);
  const bool instead_of_another = chosen.option.front_filter != FrontFilter::none;
  const double wanted = instead_of_another ? saving_min : front_saving_min;
  if (plan->ns < chosen.ns * (1 - wanted)) {
    plan->chosen = "stacked";
    plan->why = fmt::format("a lookup takes about {:.1f} ns, {:.1f} with front filter {}", plan->ns,
                            chosen.ns, name_of(chosen.option.front_filter));
    return std::move(*plan);
  }
  plan->why = fmt::format("a lookup would take about {:.1f} ns, {:.1f} with front filter {}: {} of absent "
                          "keys would come to the tables, "
                          "but {}",
                          plan->ns, chosen.ns, name_of(chosen.option.front_filter), percent(plan->stack.efpr),
                          plan->ns < chosen.ns ? fmt::format("{} at least is to be saved", percent(wanted))
                                               : "each reads several lines of the layers");
  plan->stack = {};
  plan->known.clear();
  plan->known_cost.clear();
  return std::move(*plan);
}

} // namespace weir::plan
