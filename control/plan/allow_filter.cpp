#include "control/plan/allow_filter.hpp"

#include "control/plan/plan.hpp"
#include "control/plan/side.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/keys.hpp"
#include "weir/build/prefix_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

namespace weir::plan {
namespace {

using build::EntryV4;
using build::EntryV6;

// Which lengths of the allow side a worker asks a table for.
class LengthsAsked {
public:
  LengthsAsked(const build::SideInput &allow, build::detail::HostsAlone hosts_alone)
      : below_(table::length_map_cells) {
    std::uint64_t in_use = 0; // bit l: length l of IPv4
    for (const EntryV4 &e : allow.v4) {
      if (!build::detail::is_guarded_key(e, hosts_alone) && hosts_alone.v4) continue;
      if (e.length != 0) in_use |= std::uint64_t{1} << e.length;
      if (e.length > table::short_length_max) below_[e.host >> 16] |= std::uint64_t{1} << e.length;
    }
    hosts_alone_ = in_use == std::uint64_t{1} << 32;
    for (const EntryV6 &e : allow.v6)
      if (build::detail::is_guarded_key(e, hosts_alone)) v6_[e.length] = true;
  }

  void each(const Address &address, const auto &visit) const {
    if (address.family == Family::ipv6) {
      for (unsigned l = 0; l <= 128; ++l)
        if (v6_[l]) visit(l);
      return;
    }
    std::uint64_t lengths = hosts_alone_ ? std::uint64_t{1} << 32 : below_[address.host() >> 16];
    for (; lengths != 0; lengths &= lengths - 1) visit(static_cast<unsigned>(std::countr_zero(lengths)));
  }

private:
  std::vector<std::uint64_t> below_; // of each /16
  std::array<bool, 129> v6_{};
  bool hosts_alone_ = false;
};

class Collector {
public:
  Collector(const build::SideInput &allow, build::detail::HostsAlone hosts_alone,
            std::vector<build::VulnerableKey> &keys)
      : allow_(allow), lengths_(allow, hosts_alone), keys_(keys) {}

  // Hosts come in order, so those that share a key are neighbours at each length.
  void add_host(const Address &address, double cost) {
    lengths_.each(address, [&](unsigned length) {
      const Prefix key{masked(address, length), static_cast<std::uint8_t>(length)};
      std::size_t &last = last_[length];
      if (last < keys_.size() && keys_[last].key == key) {
        keys_[last].cost += cost;
      } else if (!holds(allow_, key)) {
        last = keys_.size();
        keys_.push_back({key, cost});
      }
    });
  }

private:
  const build::SideInput &allow_;
  LengthsAsked lengths_;
  std::vector<build::VulnerableKey> &keys_;
  std::array<std::size_t, 129> last_{};
};

Address address_of(const EntryV4 &e) { return build::detail::address_of(e); }
Address address_of(const EntryV6 &e) { return build::detail::address_of(e); }

using Counts = std::map<Address, std::uint64_t>;

// Every `step`-th host, and each that samples have named; those are struck off `hot`.
template <class Entry>
void add_hosts(Collector &to, std::span<const Entry> deny, unsigned bits, std::uint64_t step, Counts &hot) {
  std::uint64_t number = 0;
  for (const Entry &e : deny) {
    if (e.length != bits) continue;
    const Address address = address_of(e);
    const auto named = hot.find(address);
    const bool taken = number++ % step == 0 || named != hot.end();
    if (!taken) continue;
    to.add_host(address, 1 + (named != hot.end() ? static_cast<double>(named->second) : 0));
    if (named != hot.end()) hot.erase(named);
  }
}

std::uint64_t guarded_keys_of(const build::SideInput &allow, build::detail::HostsAlone hosts_alone) {
  const auto is_key = [&](const auto &e) { return build::detail::is_guarded_key(e, hosts_alone); };
  return static_cast<std::uint64_t>(std::ranges::count_if(allow.v4, is_key) +
                                    std::ranges::count_if(allow.v6, is_key));
}

std::uint64_t table_bytes_of(const build::SideInput &allow) {
  return build::table_size<table::LineV4>(allow.v4.size()).bytes() +
         build::table_size<table::LineV6>(allow.v6.size()).bytes();
}

// What traffic that no known key stands for costs: denied prefixes, and where every address is asked
// about, all those that nothing denies.
double cost_elsewhere(const Vulnerable &v, const config::Config &config, double hit_ratio) {
  auto cost = static_cast<double>(v.prefixes + v.left_out);
  for (const build::VulnerableKey &key : v.keys) cost += key.cost;
  const double known = cost - static_cast<double>(v.prefixes + v.left_out);
  if (config.policy.confirm == Confirm::exact) cost += cost * (1 - hit_ratio) / std::max(hit_ratio, 0.01);
  return std::max(cost - known, known == 0 ? 1.0 : 0.0);
}

CostCurve cost_curve(const Vulnerable &keys, const config::Config &config, double hit_ratio) {
  std::vector<double> costs;
  for (const build::VulnerableKey &v : keys.keys) costs.push_back(v.cost);
  return CostCurve::of(costs, cost_elsewhere(keys, config, hit_ratio));
}

Status take(AllowFilterPlan &plan, const AllowFilterPlanner &planner, const AllowFilterTask &task,
            const Vulnerable &vulnerable) {
  plan.sized = TRY(planner.size(task));
  plan.bytes = TRY(plan.sized->params.bytes());
  plan.chosen = planner.name;
  plan.guarded_word = planner.guarded_word;
  if (planner.guarded_word.empty()) return {};
  const std::uint64_t guarded = std::min<std::uint64_t>(plan.sized->guarded, vulnerable.keys.size());
  plan.vulnerable = vulnerable.keys.size();
  plan.left_out = vulnerable.left_out;
  plan.guarded.assign(vulnerable.keys.begin(),
                      vulnerable.keys.begin() + static_cast<std::ptrdiff_t>(guarded));
  return {};
}

// All that fit in equal space, judged by what they will let through.
Status take_best(AllowFilterPlan &plan, AllowFilterPlanners planners, const AllowFilterTask &task,
                 const Vulnerable &vulnerable) {
  struct Candidate {
    AllowFilterPlan plan;
    std::string_view noun;
    [[nodiscard]] double rate() const { return plan.predicted().weighted_churned; }
  };
  std::vector<Candidate> all;
  Status none = fail(Errc::usage, "no kind of filter is known");
  for (const AllowFilterPlanner *planner : planners) {
    Candidate candidate{plan, planner->noun};
    if (Status taken = take(candidate.plan, *planner, task, vulnerable))
      all.push_back(std::move(candidate));
    else
      none = std::move(taken);
  }
  if (all.empty()) return none;
  std::ranges::stable_sort(all, {}, &Candidate::rate);
  std::string why;
  for (const Candidate &c : all)
    why += why.empty() ? fmt::format("in this space {} is predicted to let {:.2g} % of the cost of wrong "
                                     "answers through",
                                     c.noun, 100 * c.rate())
                       : fmt::format(", {} {:.2g} %", c.noun, 100 * c.rate());
  plan = all.front().plan;
  plan.why = why;
  for (const Candidate &c : std::span(all).subspan(1)) plan.rivals.push_back({c.plan.chosen, c.rate()});
  return {};
}

// Of the kind that the target or the configuration leaves no choice about; null: there is a choice.
const AllowFilterPlanner *only_planner(AllowFilterPlanners planners, const std::string &wanted, bool p4) {
  const auto found = std::ranges::find_if(
      planners, [&](const AllowFilterPlanner *row) { return p4 ? row->for_p4 : row->name == wanted; });
  return found == planners.end() ? nullptr : *found;
}

} // namespace

Vulnerable vulnerable_keys(const build::BuildInput &input, const std::vector<HotAddress> &hot,
                           std::uint64_t keys_max) {
  Vulnerable found;
  const std::uint64_t hosts = hosts_of(input.deny);
  found.prefixes = input.deny.v4.size() + input.deny.v6.size() - hosts;
  const std::uint64_t step = hosts / std::max<std::uint64_t>(keys_max, 1) + 1;
  Counts counts;
  for (const HotAddress &h : hot) counts[h.address] += h.count;
  Collector collector(input.allow, build::hosts_alone(input, Side::allow), found.keys);
  add_hosts<EntryV4>(collector, input.deny.v4, 32, step, counts);
  add_hosts<EntryV6>(collector, input.deny.v6, 128, step, counts);
  found.left_out = found.keys.size() * (step - 1);
  for (const auto &[address, count] : counts) collector.add_host(address, static_cast<double>(count));
  std::ranges::stable_sort(found.keys, std::ranges::greater{}, &build::VulnerableKey::cost);
  if (found.keys.size() > keys_max) {
    found.left_out += found.keys.size() - keys_max;
    found.keys.resize(keys_max);
  }
  return found;
}

Result<AllowFilterPlan> plan_allow_filter(const build::BuildInput &input, const config::Config &config,
                                          double hit_ratio, const Calibration &calibration,
                                          const std::vector<HotAddress> &hot, AllowFilterPlanners planners) {
  AllowFilterPlan plan;
  plan.confirm = config.policy.confirm;
  plan.keys = guarded_keys_of(input.allow, build::hosts_alone(input, Side::allow));
  const bool forced = config.allow.filter != config::allow_filter_auto;
  const std::uint64_t tables = table_bytes_of(input.allow), l2_half = calibration.l2_bytes / 2;
  if (config.allow.filter == config::allow_filter_none) {
    plan.why = "the configuration says so";
    return plan;
  }
  if (!forced && tables <= l2_half) {
    plan.why = fmt::format("the allow tables ({}) fit half of L2 ({}): asking them costs next to nothing",
                           human_bytes(tables), human_bytes(l2_half));
    return plan;
  }
  constexpr std::uint64_t room_for_more = 64, bytes_min = 4096; // below a page there is nothing to save
  const unsigned bits = config.allow.bits_per_key.value_or(allow_bits_per_key);
  plan.planned_keys = plan.keys + plan.keys / 4 + room_for_more;
  const std::uint64_t bits_total = std::max(bits * plan.planned_keys, 8 * bytes_min);
  const bool p4 = input.target() == build::Target::p4;
  const AllowFilterPlanner *only = only_planner(planners, config.allow.filter, p4);
  if (forced && only == nullptr)
    return fail(Errc::usage, "allow.filter: " + config.allow.filter + " cannot be planned; write auto");
  const bool any_alike = only != nullptr && only->guarded_word.empty();
  const Vulnerable vulnerable = any_alike ? Vulnerable{} : vulnerable_keys(input, hot);
  const CostCurve costs = cost_curve(vulnerable, config, hit_ratio);
  const AllowFilterTask task{.keys = plan.keys,
                             .planned_keys = plan.planned_keys,
                             .bits_total = bits_total,
                             .costs = costs,
                             .adaptive = config.allow.adaptive,
                             .family = input.family};
  const Status sized =
      only != nullptr ? take(plan, *only, task, vulnerable) : take_best(plan, planners, task, vulnerable);
  if (p4) plan.why = "target p4 has no other filter there";
  if (!sized) return std::unexpected(sized.error());
  plan.why = forced ? "the configuration says so"
                    : fmt::format("the allow tables ({}) exceed half of L2 ({}); {}", human_bytes(tables),
                                  human_bytes(l2_half), plan.why);
  return plan;
}

} // namespace weir::plan
