#include "control/plan/deny_filter.hpp"

#include "control/plan/judge.hpp"
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
#include <utility>

namespace weir::plan {
namespace {

// Allowed hosts among the known negatives: so many at most, or a quarter of the keys.
constexpr std::uint64_t allowed_least = 4096;

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

// ---- plans -------------------------------------------------------------------------------------

void advise(DenyFilterPlan &plan, double rate) {
  plan.advice_rate = rate;
  if (plan.samples < as_double(workload_samples_min) || plan.known_cost.empty()) return;
  if (auto advice = advise_stack(facts_of(plan.form).layers.value_or(StackBase::bloom),
                                 as_double(plan.planned_keys), curve_of(plan), rate))
    plan.advice = std::move(*advice);
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
  TRY(choose_judge(plan, task, as_double(allowed.size())));
  list_known(plan, task, allowed);
  return plan;
}

// A switch has less room, and no line of memory to wait for.
constexpr unsigned p4_front_bits_per_key = 10;

// In front of tables: the bits that a split-block filter would take.
Result<DenyFilterPlan> plan_front(const DenyFilterTask &task) {
  DenyFilterPlan plan;
  count_keys(plan, hosts_of(task.input.deny));
  if (plan.keys == 0) {
    plan.why = "no list denies a host";
    return plan;
  }
  const bool p4 = task.input.target() == build::Target::p4;
  // The one that a burst is asked about fastest, or the only one that the target has.
  plan.form = p4 ? DenyForm::bloom : DenyForm::split_block;
  take_hot(plan, task);
  const std::uint32_t blocks = filter::SplitBlockBloom::blocks_for(
      plan.planned_keys, p4 ? p4_front_bits_per_key : build::front_bits_per_key);
  advise(plan, filter::split_block_bloom_rate(plan.planned_keys, blocks));
  StackTask sizes = stack_task(plan, *facts_of(plan.form).layers, plan.planned_keys);
  if (p4) sizes.depth_max = std::min(sizes.depth_max, image::jhash_stack_layers_max);
  constexpr double bits_min = 8 * 4096; // below a page there is nothing to save
  sizes.bits_total = std::max(8.0 * sizeof(filter::Block) * blocks, bits_min);
  plan.stack = TRY(size_stack(sizes));
  list_known(plan, task, {});
  return plan;
}

struct TablesBehind {
  Family family = Family::ipv4;
  Sizes sizes;
};
TablesBehind tables_behind(const build::SideInput &deny) {
  const Family family = deny.v6.size() > deny.v4.size() ? Family::ipv6 : Family::ipv4;
  return {family, sizes_of(family, std::max(deny.v4.size(), deny.v6.size()))};
}

// What a lookup costs with a planned stack in front of the tables, and beside it with a chained filter.
void cost_front(DenyFilterPlan &plan, const DenyFilterTask &task) {
  const auto [family, sizes] = tables_behind(task.input.deny);
  plan.ns = front_stack_ns(plan.stack, family, sizes, task.hit_ratio, task.calibration);
  show_chained_front(plan, task, family, sizes);
}
void take_none(std::vector<DenyFilterPlan::Tried> &tried, const char *why_not) {
  for (DenyFilterPlan::Tried &form : tried)
    if (std::exchange(form.chosen, false)) form.why_not = why_not;
}

} // namespace

Result<DenyFilterPlan> plan_deny_filter(const DenyFilterTask &task) {
  if (task.config.compact) return plan_compact(task);
  if (task.config.front_filter != config::FrontFilter::stacked) return DenyFilterPlan{};
  auto plan = plan_front(task);
  if (plan && plan->stacks()) {
    plan->chosen = "stacked", plan->why = "the configuration says so";
    if (task.input.target() == build::Target::cpp) cost_front(*plan, task);
  }
  return plan;
}

double tables_ns(double asks, double hits, const Sizes &sizes, const Calibration &calibration) {
  const double second = hits * (sizes.lines.hit - 1) + (asks - hits) * (sizes.lines.absent - 1);
  return calibration.some_touch_ns(asks, Path::line, sizes.inline_bits.bytes1) +
         (sizes.keys == 0 ? 0 : second_line_ns(second, asks < 1, sizes.inline_bits.bytes2, calibration));
}

double front_stack_ns(const StackPlan &stack, Family family, const Sizes &sizes, double hit_ratio,
                      const Calibration &calibration) {
  const auto bytes = static_cast<std::uint64_t>(stack.bits / 8);
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  const double work = calibration.work_of(family, {}).at(h);
  const double layer_work = calibration.layer_ns(family, h);
  const double line = calibration.touch_ns(Path::block, bytes);
  // A layer that rejects reads two lines at most, one that accepts a line for each of its functions.
  const std::vector<double> rates = stack.rates();
  const auto cost_of_layers = [&](auto reaches_next) {
    double reaching = 1, ns = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double functions = std::max(2.0, std::round(-std::log2(std::max(rates[i], 1e-9)))),
                   accepts = reaches_next(i);
      ns += reaching * (layer_work + line * (accepts * functions + (1 - accepts) * 2));
      reaching *= accepts;
    }
    return ns;
  };
  const double positive = cost_of_layers([&](std::size_t i) { return i % 2 == 0 ? 1.0 : rates[i]; });
  const double known = cost_of_layers([&](std::size_t i) { return i % 2 == 0 ? rates[i] : 1.0; });
  const double unknown = cost_of_layers([&](std::size_t i) { return rates[i]; });
  const double filter = h * positive + (1 - h) * (stack.psi * known + (1 - stack.psi) * unknown);
  return work + filter + tables_ns(h + (1 - h) * stack.efpr, h, sizes, calibration);
}

DenyFilterPlan weigh_front_stack(const DenyFilterTask &task, const Cost &chosen) {
  DenyFilterPlan none;
  if (task.config.front_filter == config::FrontFilter::none ||
      task.config.front_filter == config::FrontFilter::split_block_bloom) {
    none.why = "the configuration asks for another front filter";
    return none;
  }
  if (task.negatives.total < as_double(workload_samples_min)) {
    none.samples = task.negatives.total;
    none.why = fmt::format("too few samples of what nothing denies: {:.0f}, and {} say something",
                           task.negatives.total, workload_samples_min);
    if (auto shown = plan_front(task); shown && shown->stacks()) {
      cost_front(*shown, task);
      none.tried = std::move(shown->tried);
      take_none(none.tried, "too few samples to tell what it would save");
    }
    return none;
  }
  auto plan = plan_front(task);
  if (!plan || !plan->stacks()) {
    none.why = plan ? plan->why : plan.error().message;
    return none;
  }
  cost_front(*plan, task);
  const bool instead_of_another = chosen.option.front_filter != FrontFilter::none;
  const double wanted = instead_of_another ? saving_min : stack_saving_min;
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
  take_none(plan->tried, "it saves too little, or nothing");
  plan->stack = {};
  plan->known.clear();
  plan->known_cost.clear();
  return std::move(*plan);
}

} // namespace weir::plan
