#include "control/plan/plan.hpp"

#include "control/plan/class_map.hpp"
#include "control/plan/layers.hpp"
#include "control/plan/measure.hpp"
#include "control/plan/model.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/build/table_builder.hpp"
#include "weir/build/word_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <set>

namespace weir::plan {
namespace {

using build::EntryV4;
using build::EntryV6;

// How many probes an address taken at random costs: the mean over all /16 of the lengths from 17 on
// that are in use below it.
double probes_v4(std::span<const EntryV4> entries) {
  std::uint64_t sum = 0;
  std::uint32_t cell = 0, lengths = 0;
  for (const EntryV4 &e : entries) {
    if (e.length <= 16) continue;
    if (e.host >> 16 != cell) {
      sum += static_cast<unsigned>(std::popcount(lengths));
      cell = e.host >> 16;
      lengths = 0;
    }
    lengths |= 1u << (e.length - 1);
  }
  sum += static_cast<unsigned>(std::popcount(lengths));
  return static_cast<double>(sum) / table::length_map_cells;
}

// `range_bytes`: of the map that has the prefixes; 0: they stand in the table. `hosts_in_map`: hosts too.
// `hosts_in_words`: hosts have lines of words, and the table what is behind them. `judged`: hosts of the family that
// a judge has in place of the table; nothing where there is no judge.
template <class Line, class Entry>
TablePlan plan_table(const std::string &name, std::span<const Entry> entries, build::Target target,
                     std::uint64_t range_bytes, bool hosts_in_map, bool hosts_in_words = false,
                     std::optional<std::uint64_t> judged = {}) {
  const unsigned bits = address_bits(Line::family);
  const bool p4 = target == build::Target::p4;
  const build::SizeRule rule{family_of(target)};
  TablePlan t;
  t.name = name;
  std::bitset<129> lengths;
  for (const Entry &e : entries) {
    ++(e.length == bits ? t.hosts : t.prefixes);
    lengths.set(std::min<unsigned>(e.length, bits));
  }
  t.prefix_lengths = lengths.count();
  t.hosts_in_map = hosts_in_map && t.hosts != 0;
  t.keys = (hosts_in_map ? 0 : t.hosts) + (range_bytes == 0 ? t.prefixes : 0);
  std::uint64_t words_bytes = 0;
  if constexpr (std::is_same_v<Entry, EntryV4>)
    if (hosts_in_words) {
      const build::WordSize words = build::word_size(entries);
      words_bytes = build::word_bytes(words.lines);
      t.hosts_in_words = true;
      t.keys = words.keys_behind;
    }
  const build::TableSize size =
      build::table_size<Line>(t.keys + (hosts_in_map ? build::room_beside_map(t.hosts) : 0),
                              p4 ? Predictor::chained : Predictor::inline_bits, rule);
  t.bytes = size.bytes() + sizeof(table::OverlayHeader) +
            std::uint64_t{build::overlay_lines<Line>((hosts_in_words ? t.hosts : t.keys) + judged.value_or(0),
                                                     rule, judged ? judged_overlay_lines_least : 0)} *
                cache_line_bytes;
  if (range_bytes != 0) {
    t.bytes += range_bytes + words_bytes;
    t.probes = t.keys != 0 ? 1 : 0;
  } else if constexpr (std::is_same_v<Entry, EntryV4>) {
    t.bytes += sizeof(table::LengthMapHeader) + table::length_map_cells * sizeof(std::uint64_t);
    t.probes = probes_v4(entries);
  } else {
    t.bytes += sizeof(table::LengthSetV6);
    t.probes = static_cast<double>(t.prefix_lengths);
  }
  ExpectedLines lines = expected_lines({t.keys, size.lines1, Line::slots, Line::groups});
  if (p4 && t.keys != 0) lines.hit = lines.absent = 1;
  if (hosts_in_words) lines = {1 + build::word_share_behind, 1 + build::word_absent_behind};
  t.lines_hit = lines.hit;
  t.lines_absent = lines.absent;
  return t;
}

// `home`: what was to be.
std::string why_there(const TablePlan &t, const HomeChoice &home) {
  const bool wanted_map = home.home == build::HostHome::ranges || home.home == build::HostHome::points;
  if (t.hosts_in_map) return wanted_map ? home.why : "they are few beside its prefixes";
  if (t.hosts_in_words || home.home == build::HostHome::table) return home.why;
  return "there are more pairs of list and length than a range map holds";
}

// What the deny side keeps in tables: everything, or in compact mode prefixes alone.
struct TableEntries {
  std::vector<EntryV4> prefixes4;
  std::vector<EntryV6> prefixes6;
  std::span<const EntryV4> v4;
  std::span<const EntryV6> v6;
};
TableEntries table_entries(const build::SideInput &deny, const config::Config &config) {
  TableEntries t;
  t.v4 = deny.v4, t.v6 = deny.v6;
  if (!config.compact) return t;
  std::ranges::copy_if(deny.v4, std::back_inserter(t.prefixes4),
                       [](const EntryV4 &e) { return e.length < 32; });
  std::ranges::copy_if(deny.v6, std::back_inserter(t.prefixes6),
                       [](const EntryV6 &e) { return e.length < 128; });
  t.v4 = t.prefixes4, t.v6 = t.prefixes6;
  return t;
}

// Errors: refused, naming the key and what it may say.
Status check_target(const config::Config &config, build::Target target) {
  if (target == build::Target::cpp) return {};
  const auto refuse = [&](const char *key, std::string_view remedy) {
    return fail(Errc::refused,
                fmt::format("{}: {}: target p4 does not have it: {}", config.source.string(), key, remedy));
  };
  if (config.compact) return refuse("mode: compact", "write mode: exact");
  if (config.offenders) return refuse("offenders", "take the key out, or run the C++ target");
  if (config.predictor == config::Predictor::inline_bits)
    return refuse("predictor: inline_bits", "write predictor: auto, which is chained there");
  if (config.front_filter == config::FrontFilter::split_block_bloom)
    return refuse("front_filter: split_block_bloom", "write front_filter: none or stacked");
  const auto is_for_p4 = [](const AllowFilterPlanner *planner) { return planner->for_p4; };
  for (const AllowFilterPlanner *planner : allow_filter_planners()) {
    if (planner->name != config.allow.filter || planner->for_p4) continue;
    const AllowFilterPlanner &has = **std::ranges::find_if(allow_filter_planners(), is_for_p4);
    return refuse("allow.filter", fmt::format("write allow.filter: auto, none or {}", has.name));
  }
  return {};
}

// The options that the configuration and the target leave open.
std::vector<Option> left_open(const config::Config &config, build::Target target, bool words) {
  if (words) return {{.front_filter = FrontFilter::none, .predictor = Predictor::inline_bits}};
  if (target == build::Target::p4)
    return {{.front_filter = FrontFilter::none, .predictor = Predictor::chained}};
  std::vector<Option> options;
  for (const Option &option : all_options) {
    const bool front = option.front_filter == FrontFilter::split_block_bloom;
    const bool chained = option.predictor == Predictor::chained;
    const bool other_front = config.front_filter == config::FrontFilter::none ||
                             config.front_filter == config::FrontFilter::stacked || config.compact;
    if (other_front && front) continue;
    if (config.front_filter == config::FrontFilter::split_block_bloom && !front) continue;
    if (config.predictor == config::Predictor::inline_bits && chained) continue;
    if (config.predictor == config::Predictor::chained && !chained) continue;
    options.push_back(option);
  }
  return options;
}

// The chosen one beside the one that differs from it in one part alone.
const Cost *other_of(const std::vector<Cost> &costs, Option wanted) {
  const auto at = std::ranges::find(costs, wanted, &Cost::option);
  return at == costs.end() ? nullptr : &*at;
}

Choice explain(const char *what, const char *chosen, const char *alternative, bool forced,
               const Cost *other) {
  Choice choice{what, chosen, {}};
  if (forced)
    choice.why = "the configuration says so";
  else if (other == nullptr)
    choice.why = "the configuration leaves no other";
  else
    choice.why = fmt::format("{} would take {:.1f} ns: {}", alternative, other->ns, other->why_not);
  return choice;
}

void explain_choice(Plan &plan, const config::Config &config, const Answer &answer) {
  const Cost &best = answer.best();
  const bool front = best.option.front_filter != FrontFilter::none;
  const bool chained = best.option.predictor == Predictor::chained;
  Option other = best.option;
  other.front_filter = front ? FrontFilter::none : FrontFilter::split_block_bloom;
  plan.front_filter =
      explain("front_filter", name_of(best.option.front_filter), name_of(other.front_filter),
              config.front_filter != config::FrontFilter::automatic, other_of(answer.costs, other));
  other = best.option;
  other.predictor = chained ? Predictor::inline_bits : Predictor::chained;
  plan.predictor = explain("predictor", name_of(best.option.predictor), name_of(other.predictor),
                           config.predictor != config::Predictor::automatic, other_of(answer.costs, other));
}

// Keys of groups that the builder cannot keep whole, as shares of all: seen were none in four million
// keys of IPv4 and 4 in 10,000 of IPv6; with a margin, since a layer too small spoils the chain.
constexpr double mistaken_v4 = 2e-4, mistaken_v6 = 1.5e-3;
constexpr std::uint64_t keys_worth_sizing = 100'000;

// Sizes of the deeper layers; the builder's own where a few bytes are all there is to save.
template <class Line> build::ChainWords words_for(std::uint64_t keys, double mistaken) {
  if (keys < keys_worth_sizing) return {};
  const build::ChainSize size = build::chain_size<Line>(keys);
  const auto n = static_cast<double>(keys);
  const double in_table2 = n * build::chained_density<Line>.share2;
  const auto sizes = size_layers({.in_table1 = static_cast<std::uint64_t>(n - in_table2),
                                  .in_table2 = static_cast<std::uint64_t>(in_table2),
                                  .form = LayerForm::bucket_aligned,
                                  .first_bits = 8 * size.first_bytes(),
                                  .mistaken = mistaken * n});
  build::ChainWords words{};
  if (!sizes || sizes->words.size() > words.size()) return words;
  words.fill(build::deep_words_min); // a layer in reserve costs 64 bytes
  std::ranges::copy(sizes->words, words.begin());
  return words;
}

// Of the deny side's stacked filter, about: how its layers come out is known when they are built. With what names the
// lists of its denials.
std::uint64_t stack_bytes(const Plan &plan) {
  return round_up(static_cast<std::uint64_t>(plan.deny_filter.stack.bits / 8), cache_line_bytes) +
         round_up(plan.deny_filter.class_map_bytes, cache_line_bytes);
}

// What hosts in words take, in place of what their table would.
void cost_words(Cost &cost, const Plan &plan) {
  const double h = plan.workload.hit_ratio;
  const TablePlan &t = plan.tables[0];
  cost.lines_hit = t.lines_hit;
  cost.lines_absent = t.lines_absent;
  cost.lines = h * t.lines_hit + (1 - h) * t.lines_absent;
  const auto known = std::ranges::find(plan.home.costs, build::HostHome::words, &HomeCost::home);
  if (known != plan.home.costs.end()) cost.ns = known->ns;
}

// Every candidate with its price, also those that the configuration forbids.
void choose_options(Plan &plan, const build::BuildInput &input, const config::Config &config,
                    const Calibration &calibration) {
  const bool words =
      plan.tables[0].hosts_in_words; // beside them the table that all of these hosts would have
  const bool v6 = !words && plan.tables[1].keys > plan.tables[0].keys;
  const Family family = v6 ? Family::ipv6 : Family::ipv4;
  const std::uint64_t keys = words ? plan.tables[0].hosts : plan.tables[v6 ? 1 : 0].keys;
  const std::vector<Option> open = left_open(config, plan.target, words);
  Answer answer =
      choose({.family = family, .keys = keys, .hit_ratio = plan.workload.hit_ratio, .candidates = open},
             calibration);
  if (words) cost_words(answer.costs.front(), plan);
  plan.chosen = answer.chosen;
  explain_choice(plan, config, answer);
  if (plan.target == build::Target::p4) plan.predictor.why = plan.front_filter.why = "target p4 has no other";
  if (words) plan.predictor.why = plan.front_filter.why = "hosts in words have no other";
  if (plan.chosen.predictor == Predictor::chained) {
    plan.chain_words_v4 = words_for<table::LineV4>(plan.tables[0].keys, mistaken_v4);
    plan.chain_words_v6 = words_for<table::LineV6>(plan.tables[1].keys, mistaken_v6);
  }
  const Sizes sizes = sizes_of(family, keys);
  for (const Option &option : all_options) {
    Candidate candidate;
    const Cost *judged = other_of(answer.costs, option);
    candidate.forced_out = judged == nullptr;
    candidate.cost =
        judged != nullptr ? *judged : cost_of(family, sizes, plan.workload.hit_ratio, option, calibration);
    if (candidate.forced_out)
      candidate.cost.why_not = plan.target == build::Target::p4 ? "target p4 does not have it"
                               : words                          ? "hosts in words do not have it"
                                                                : "the configuration asks for another";
    build::BuildInput as_planned = input;
    apply_to(as_planned, plan);
    apply_to(as_planned, option);
    if (words && candidate.forced_out) as_planned.deny.hosts_v4 = build::HostHome::table;
    candidate.image_bytes = build::image_bytes(as_planned) + stack_bytes(plan);
    if (candidate.cost.chosen) plan.image_bytes = candidate.image_bytes;
    plan.candidates.push_back(std::move(candidate));
  }
}

// In place of the front filter that costs decided on, or in front of nothing in compact mode.
void name_stack(Plan &plan) {
  const DenyFilterPlan &stack = plan.deny_filter;
  if (!stack.stacks() || stack.compact) return;
  plan.front_filter.chosen = stack.chosen;
  plan.front_filter.why = stack.why;
}

// `auto` takes a stack that is cheaper than what it would take otherwise. Where there is none, it is said why.
void weigh_stack(Plan &plan, const build::BuildInput &input, const config::Config &config,
                 const Circumstances &now) {
  if (config.compact || config.front_filter == config::FrontFilter::stacked) return;
  if (plan.target == build::Target::p4) { // costs are those of the other target
    plan.deny_filter.why = "target p4 has none unless the configuration asks for it";
    return;
  }
  if (plan.tables[0].hosts_in_words) {
    plan.deny_filter.why = "hosts in words have no filter in front";
    return;
  }
  const auto chosen = std::ranges::find_if(plan.candidates, [](const Candidate &c) { return c.cost.chosen; });
  if (chosen == plan.candidates.end()) return;
  plan.deny_filter = weigh_front_stack(
      {input, config, now.negatives, now.calibration, plan.workload.hit_ratio}, chosen->cost);
  if (!plan.deny_filter.stacks()) return;
  plan.chosen.front_filter = FrontFilter::none;
  build::BuildInput as_planned = input;
  apply_to(as_planned, plan);
  plan.image_bytes = build::image_bytes(as_planned) + stack_bytes(plan);
}

// A key is written to a line and asked again: two touches beyond the work, one core.
void expect_build_time(Plan &plan, const Circumstances &now) {
  double ns = 0;
  std::uint64_t keys = 0;
  for (const TablePlan &t : plan.tables) {
    const std::uint64_t placed = t.hosts_in_words ? t.hosts : t.keys;
    keys += placed;
    ns += static_cast<double>(placed) *
          (now.calibration.build_ns + 2 * now.calibration.touch_ns(Path::line, t.bytes));
  }
  plan.build_from = now.calibration.measured ? "from the measured figures" : "from built-in figures";
  if (now.build_ns_per_key > 0) {
    ns = static_cast<double>(keys) * now.build_ns_per_key;
    plan.build_from = fmt::format("{:.0f} ns a key in the last build", now.build_ns_per_key);
  }
  plan.build_ms = ns / 1e6;
}

// What build/table_builder.hpp holds beside a table: keys that found their line full, and what such lines give up on
// the way to table 2.
template <class Line> std::uint64_t builder_bytes(std::uint64_t keys, Predictor predictor) {
  using Builder = build::TableBuilder<Line>;
  using Moving = build::Displacer<Line>;
  const build::Density &d = build::density<Line>(predictor);
  const double surplus = build::surplus_expected<Line>(keys, d) * sizeof(typename Builder::Overflow);
  const double sorting = surplus / 2;
  double moving = static_cast<double>(keys) * d.share2 * sizeof(typename Builder::Item);
  if (d.whole_groups != 0) {
    const build::OverfullLines overfull = build::overfull_expected<Line>(keys, d);
    moving = overfull.keys * sizeof(typename Moving::Item) + overfull.lines * sizeof(typename Moving::Wants);
  }
  return static_cast<std::uint64_t>(surplus + std::max(sorting, moving));
}

// Of the builder, while the image is there. The tables of a side are built one after the other.
std::uint64_t scratch_bytes(const build::BuildInput &in, const Plan &plan) {
  const Predictor allow = plan.target == build::Target::p4 ? Predictor::chained : Predictor::inline_bits;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < plan.tables.size(); ++i) {
    const Predictor predictor = i < 2 ? plan.chosen.predictor : allow;
    const TablePlan &t = plan.tables[i];
    const bool v4 = i % 2 == 0;
    const std::uint64_t picked = // keys of a table that others of the side do not stand in are copied
        t.keys == t.hosts + t.prefixes ? 0 : t.keys * (v4 ? sizeof(EntryV4) : sizeof(EntryV6));
    most = std::max(most, picked + (v4 ? builder_bytes<table::LineV4>(t.keys, predictor)
                                       : builder_bytes<table::LineV6>(t.keys, predictor)));
  }
  if (plan.allow_filter.sized)
    most = std::max(most, (in.allow.v4.size() + in.allow.v6.size() + in.allow_filter.guarded.size()) *
                              sizeof(KeyHash));
  return most;
}

// Range maps are resolved before the image is there, and stay until it is written: `kept`. While that is done the
// prefixes are there twice, and the ranges that all entries are cut into; and lines grow by doubling.
struct RangesMemory {
  std::uint64_t kept = 0, sweeping = 0;
};
RangesMemory ranges_memory(const build::BuildInput &in, const Plan &plan) {
  RangesMemory memory;
  const auto add = [&memory](const auto &map, std::uint64_t prefixes_bytes, std::uint64_t range_bytes) {
    if (!map) return;
    const build::RangeFootprint &f = map->footprint();
    const std::uint64_t growing = f.lines_used * cache_line_bytes / 2;
    memory.sweeping =
        std::max(memory.sweeping, memory.kept + f.bytes + growing + prefixes_bytes + f.ranges * range_bytes);
    memory.kept += f.bytes;
  };
  for (const Side side : both_sides) {
    const TablePlan *const tables = &plan.tables[side == Side::deny ? 0 : 2];
    add(in.ranges->v4[side], tables[0].prefixes * sizeof(EntryV4), sizeof(build::RangeV4));
    add(in.ranges->v6[side], tables[1].prefixes * sizeof(EntryV6), sizeof(build::RangeV6));
  }
  return memory;
}

// What offenders are remembered in. Errors: config, with the line of the key.
Status plan_offenders(Plan &plan, const config::Config &config, const offenders::Model *model) {
  if (!config.offenders) return {};
  auto choice = offenders::choose(*config.offenders, model);
  if (!choice)
    return fail(Errc::config, fmt::format("{}:{}: offenders: {}", config.source.string(),
                                          config.offenders->line, choice.error().message));
  plan.image_bytes +=
      round_up(sizeof(image::OffendersHeader) + choice->plan.groups.size() * sizeof(image::OffenderGroup) +
                   choice->model_bytes,
               cache_line_bytes);
  plan.offenders = std::move(*choice);
  return {};
}

void expect_memory(Plan &plan, const build::BuildInput &input, const build::BuildInput &in_tables,
                   const Circumstances &now) {
  const RangesMemory ranges = ranges_memory(input, plan);
  plan.before_bytes = now.before_bytes;
  plan.image_copies = now.image_copies;
  plan.dataplane_bytes = now.image_copies * plan.image_bytes;
  if (plan.offenders) plan.dataplane_bytes += plan.offenders->plan.cell_bits / 8; // outlives images
  plan.swap_bytes = now.image_copies * now.before_bytes + plan.dataplane_bytes;
  plan.rules_bytes = (input.deny.v4.size() + input.allow.v4.size()) * sizeof(EntryV4) +
                     (input.deny.v6.size() + input.allow.v6.size()) * sizeof(EntryV6);
  plan.scratch_bytes = scratch_bytes(in_tables, plan) + stack_bytes(plan);
  if (plan.deny_filter.class_map_bytes != 0) // built before the image is there
    plan.scratch_bytes = std::max(plan.scratch_bytes, class_map_scratch_bytes(input.deny));
  plan.needed_bytes = plan.image_bytes + plan.scratch_bytes;
  const ListsMemory &lists = now.lists;
  const std::uint64_t building =
      lists.lists_bytes + lists.notes_bytes + plan.rules_bytes +
      std::max(ranges.sweeping, ranges.kept + plan.image_bytes + plan.scratch_bytes);
  plan.control_bytes = control_process_bytes + lists.lists_bytes;
  plan.control_peak_bytes =
      control_process_bytes + lists.replaced_bytes + std::max(building, lists.reading_bytes);
  plan.dataplane_peak_bytes = plan.swap_bytes + plan.image_bytes;
}

} // namespace

// Allow tables are small and change by hand: they keep inline_bits where the target has them.
void apply_to(build::BuildInput &input, const Option &chosen) {
  input.deny.front_filter = chosen.front_filter == FrontFilter::split_block_bloom;
  input.deny.predictor = chosen.predictor;
}

void apply_to(build::BuildInput &input, const Plan &plan) {
  apply_to(input, plan.chosen);
  if (plan.target == build::Target::p4) input.allow.predictor = Predictor::chained;
  input.deny.chain_words_v4 = plan.chain_words_v4;
  input.deny.chain_words_v6 = plan.chain_words_v6;
  if (plan.allow_filter.sized) input.allow_filter.params = plan.allow_filter.sized->params;
  input.allow_filter.guarded = plan.allow_filter.guarded;
}

Calibration calibration_for(const build::BuildInput &input, const MemoryFree &memory,
                            const std::filesystem::path &state) {
  constexpr std::uint64_t most = MeasureOptions{}.memory_bytes_max;
  build::BuildInput largest = input;
  largest.deny.front_filter = true;
  const bool huge = memory.fits_hugepages(build::image_bytes(largest));
  return calibration_for(
      {.state = state,
       .pages = huge ? Pages::huge : Pages::ordinary,
       .memory_bytes_max = std::min(most, (huge ? memory.hugepages_free_bytes : memory.ordinary_bytes()) / 4),
       .keys = std::max(input.deny.v4.size(), input.deny.v6.size())});
}

Result<Plan> make_plan(const build::BuildInput &asked, const config::Config &config,
                       const Circumstances &now) {
  Plan plan;
  build::BuildInput input = asked;
  plan.home = now.home ? *now.home : choose_home(input, config, now.workload.hit_ratio, now.calibration);
  if (!input.ranges) {
    input.deny.hosts_v4 = plan.home.home;
    build::resolve_prefixes(input);
  }
  plan.target = input.target();
  TRY(check_target(config, plan.target));
  const TableEntries deny = table_entries(input.deny, config);
  build::BuildInput in_tables = input;
  in_tables.deny.v4 = deny.v4, in_tables.deny.v6 = deny.v6;
  const auto bytes_of = [](const auto &ranges) { return ranges ? ranges->footprint().bytes : 0; };
  const auto &ranges4 = input.ranges->v4;
  const auto &ranges6 = input.ranges->v6;
  const auto judged = [&](std::uint64_t all, std::uint64_t tabled) {
    return config.compact ? std::optional(all - tabled) : std::nullopt;
  };
  plan.tables = {
      plan_table<table::LineV4>("deny ipv4", deny.v4, plan.target, bytes_of(ranges4[Side::deny]),
                                input.ranges->hosts_in_v4[Side::deny],
                                build::hosts_in_words(input, *input.ranges),
                                judged(input.deny.v4.size(), deny.v4.size())),
      plan_table<table::LineV6>("deny ipv6", deny.v6, plan.target, bytes_of(ranges6[Side::deny]),
                                input.ranges->hosts_in_v6[Side::deny], false,
                                judged(input.deny.v6.size(), deny.v6.size())),
      plan_table<table::LineV4>("allow ipv4", input.allow.v4, plan.target, bytes_of(ranges4[Side::allow]),
                                input.ranges->hosts_in_v4[Side::allow]),
      plan_table<table::LineV6>("allow ipv6", input.allow.v6, plan.target, bytes_of(ranges6[Side::allow]),
                                input.ranges->hosts_in_v6[Side::allow])};
  plan.tables[0].points = plan.tables[0].hosts_in_map && input.ranges->v4[Side::deny]->has_points();
  for (TablePlan &t : plan.tables)
    t.hosts_why = why_there(t, &t == &plan.tables[0] ? plan.home : HomeChoice{});
  plan.workload = now.workload;
  plan.calibration = now.calibration.note;
  plan.allow_filter =
      TRY(plan_allow_filter(input, config, plan.workload.hit_ratio, now.calibration, now.hot));
  plan.deny_filter =
      TRY(plan_deny_filter({input, config, now.negatives, now.calibration, plan.workload.hit_ratio}));
  if (plan.deny_filter.compact && plan.deny_filter.stacks())
    plan.deny_filter.class_map_bytes = class_map_bytes(input.deny);
  choose_options(plan, in_tables, config, now.calibration);
  weigh_stack(plan, input, config, now);
  name_stack(plan);
  TRY(plan_offenders(plan, config, now.offender_model.get()));
  expect_build_time(plan, now);
  expect_memory(plan, input, in_tables, now);
  plan.memory = now.memory;
  plan.hugepages = now.memory.fits_hugepages(plan.image_bytes);
  plan.fits = check_memory(plan.image_bytes, plan.scratch_bytes, now.memory).has_value();
  return plan;
}

} // namespace weir::plan
