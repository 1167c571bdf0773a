#include "control/plan/plan.hpp"

#include "control/plan/model.hpp"
#include "weir/build/image_builder.hpp"

#include <fmt/format.h>

#include <bit>
#include <bitset>
#include <cmath>
#include <set>

namespace weir::plan {
namespace {

using build::EntryV4;
using build::EntryV6;

// Measured on one core with every key asked afterwards; a rough figure for people who wait.
constexpr double build_ns_per_key = 200;

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
  return static_cast<double>(sum) / image::length_map_cells;
}

template <class Line, class Entry>
TablePlan plan_table(const std::string &name, std::span<const Entry> entries) {
  const unsigned bits = address_bits(Line::family);
  const build::TableSize size = build::table_size<Line>(entries.size());
  TablePlan t{.name = name, .keys = entries.size()};
  std::bitset<129> lengths;
  for (const Entry &e : entries) {
    ++(e.length == bits ? t.hosts : t.prefixes);
    lengths.set(std::min<unsigned>(e.length, bits));
  }
  t.prefix_lengths = lengths.count();
  t.bytes = size.bytes() + sizeof(image::OverlayHeader) +
            std::uint64_t{build::overlay_lines<Line>(t.keys)} * cache_line_bytes;
  if constexpr (std::is_same_v<Entry, EntryV4>) {
    t.bytes += sizeof(image::LengthMapHeader) + image::length_map_cells * sizeof(std::uint64_t);
    t.probes = probes_v4(entries);
  } else {
    t.bytes += sizeof(image::LengthSetV6);
    t.probes = static_cast<double>(t.prefix_lengths);
  }
  const ExpectedLines lines = expected_lines({t.keys, size.lines1, Line::slots, Line::groups});
  t.lines_hit = lines.hit;
  t.lines_absent = lines.absent;
  return t;
}

Candidate candidate(const build::BuildInput &input, const TablePlan &deny, bool front) {
  build::BuildInput as_planned = input;
  as_planned.deny.front_filter = front;
  Candidate c{.front_filter = front ? "split_block_bloom" : "none",
              .predictor = "inline_bits",
              .image_bytes = build::image_bytes(as_planned),
              .lines_hit = deny.lines_hit,
              .lines_absent = deny.lines_absent};
  if (!front || deny.keys == 0) return c;
  const double false_positive_rate = filter::split_block_bloom_rate(
      deny.keys, filter::SplitBlockBloom::blocks_for(deny.keys, build::front_bits_per_key));
  c.lines_hit += 1;
  c.lines_absent = 1 + false_positive_rate * deny.lines_absent;
  return c;
}

Choice choose_front_filter(config::FrontFilter wanted) {
  const char *what = "front_filter";
  switch (wanted) {
  case config::FrontFilter::none: return {what, "none", "the configuration says so"};
  case config::FrontFilter::split_block_bloom:
    return {what, "split_block_bloom", "the configuration says so"};
  case config::FrontFilter::automatic: break;
  }
  return {what, "none",
          "no hit ratio is measured yet, and a filter in front costs a line for every listed address; "
          "front_filter: split_block_bloom forces one"};
}

Choice choose_predictor(config::Predictor wanted) {
  if (wanted == config::Predictor::inline_bits)
    return {"predictor", "inline_bits", "the configuration says so"};
  return {"predictor", "inline_bits", "the one this version has; it takes changes in place"};
}

// The groups that overfull lines give up, on their way to table 2 (build/table_builder.hpp).
template <class Line, class Key> std::uint64_t scratch_of(std::uint64_t keys) {
  using Item = typename build::TableBuilder<Line>::Item;
  const double moved = static_cast<double>(keys) * build::Density<Line>::share2;
  return static_cast<std::uint64_t>(std::ceil(moved * 2 * (2 * sizeof(Item) + sizeof(std::uint32_t))));
}

std::uint64_t scratch_bytes(const build::BuildInput &in) {
  const std::uint64_t v4 = std::max(in.deny.v4.size(), in.allow.v4.size());
  const std::uint64_t v6 = std::max(in.deny.v6.size(), in.allow.v6.size());
  return std::max(scratch_of<table::LineV4, EntryV4>(v4), scratch_of<table::LineV6, EntryV6>(v6));
}

} // namespace

Result<Plan> make_plan(const build::BuildInput &input, const config::Config &config,
                       std::uint64_t before_bytes, const MemoryFree &memory) {
  Plan plan;
  plan.tables = {plan_table<table::LineV4>("deny ipv4", input.deny.v4),
                 plan_table<table::LineV6>("deny ipv6", input.deny.v6),
                 plan_table<table::LineV4>("allow ipv4", input.allow.v4),
                 plan_table<table::LineV6>("allow ipv6", input.allow.v6)};
  plan.front_filter = choose_front_filter(config.front_filter);
  plan.predictor = choose_predictor(config.predictor);
  plan.deny_front_filter = plan.front_filter.chosen != "none";
  const TablePlan &deny = plan.tables[plan.tables[1].keys > plan.tables[0].keys ? 1 : 0];
  for (const bool front : {false, true}) {
    plan.candidates.push_back(candidate(input, deny, front));
    if (front != plan.deny_front_filter) continue;
    plan.candidates.back().chosen = true;
    plan.image_bytes = plan.candidates.back().image_bytes;
  }
  std::uint64_t keys = 0;
  for (const TablePlan &t : plan.tables) keys += t.keys;
  plan.build_ms = static_cast<double>(keys) * build_ns_per_key / 1e6;
  plan.before_bytes = before_bytes;
  plan.swap_bytes = before_bytes + plan.image_bytes;
  plan.rules_bytes = (input.deny.v4.size() + input.allow.v4.size()) * sizeof(EntryV4) +
                     (input.deny.v6.size() + input.allow.v6.size()) * sizeof(EntryV6);
  plan.scratch_bytes = scratch_bytes(input);
  plan.needed_bytes = plan.image_bytes + plan.scratch_bytes;
  plan.memory = memory;
  plan.hugepages = memory.fits_hugepages(plan.image_bytes);
  plan.fits = check_memory(plan.image_bytes, plan.scratch_bytes, memory).has_value();
  return plan;
}

} // namespace weir::plan
