#include "control/plan/cost.hpp"

#include "weir/build/image_builder.hpp"
#include "weir/filter/split_block_bloom.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::plan {
namespace {

template <class Line> Sizes sizes_for(std::uint64_t keys) {
  const auto tables = [keys](Predictor predictor) {
    const build::TableSize size = build::table_size<Line>(keys, predictor);
    return Sizes::Tables{std::uint64_t{size.lines1} * cache_line_bytes,
                         std::uint64_t{size.lines2} * cache_line_bytes};
  };
  Sizes s;
  s.keys = keys;
  s.inline_bits = tables(Predictor::inline_bits);
  s.chained = tables(Predictor::chained);
  s.predictor_bytes = build::chain_size<Line>(keys).bytes();
  const std::uint32_t blocks = filter::SplitBlockBloom::blocks_for(keys, build::front_bits_per_key);
  s.front_bytes = std::uint64_t{blocks} * sizeof(filter::Block);
  s.front_rate = keys == 0 ? 0 : filter::split_block_bloom_rate(keys, blocks);
  s.lines = expected_lines(
      {keys, build::table_size<Line>(keys, Predictor::inline_bits).lines1, Line::slots, Line::groups});
  return s;
}

// Plainer first: what a dearer one has to be worth grows with its place.
unsigned plainness(Option option) noexcept {
  return (option.front_filter == FrontFilter::none ? 0 : 1) +
         (option.predictor == Predictor::chained ? 2 : 0);
}

double saving_wanted(Option option, Option than) noexcept {
  return plainness(option) <= plainness(than) ? 0 : saving_min;
}

bool automatic(const Cost &cost, std::span<const Cost> all) {
  if (cost.predictor_in_l2) return true;
  // Forced: there is nothing else to take.
  return std::ranges::all_of(all, [](const Cost &c) { return c.option.predictor == Predictor::chained; });
}

std::string why_not(const Cost &cost, const Cost &chosen) {
  if (!cost.allowed)
    return fmt::format("its predictor of {} KiB is more than half of L2", cost.predictor_bytes >> 10);
  const double more = (cost.ns / chosen.ns - 1) * 100;
  if (more >= 0) return fmt::format("{:.0f} % slower", more);
  return fmt::format("only {:.1f} % faster, less than the {:.0f} % that it has to save", -more,
                     saving_wanted(cost.option, chosen.option) * 100);
}

} // namespace

Sizes sizes_of(Family family, std::uint64_t keys) {
  return family == Family::ipv6 ? sizes_for<table::LineV6>(keys) : sizes_for<table::LineV4>(keys);
}

double second_line_ns(double share, bool filtered, std::uint64_t bytes2, const Calibration &calibration) {
  return filtered ? calibration.some_touch_ns(share, Path::line, bytes2)
                  : share * calibration.touch_ns(Path::line, bytes2);
}

Cost cost_of(Family family, const Sizes &s, double hit_ratio, Option option, const Calibration &calibration) {
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  const bool front = option.front_filter != FrontFilter::none;
  const bool chained = option.predictor == Predictor::chained;
  Cost c;
  c.option = option;
  c.front_bytes = front ? s.front_bytes : 0;
  c.predictor_bytes = chained ? s.predictor_bytes : 0;
  c.predictor_in_l2 = c.predictor_bytes <= calibration.l2_bytes / 2;
  c.work_ns = calibration.work_of(family, option).at(h);

  const double absent_asks = front ? s.front_rate : 1; // share of absent keys that come to the table
  const double asks = h + (1 - h) * absent_asks;
  const double second_hit = chained || s.keys == 0 ? 0 : s.lines.hit - 1;
  const double second_absent = chained || s.keys == 0 ? 0 : s.lines.absent - 1;
  const double second = h * second_hit + (1 - h) * absent_asks * second_absent;
  const Sizes::Tables &tables = chained ? s.chained : s.inline_bits;
  // A chained lookup reads one line of either table: its bytes are those of both. Its path has the
  // predictor's bits in it.
  const double first = chained ? calibration.some_touch_ns(asks, Path::chained, tables.bytes1 + tables.bytes2)
                               : calibration.some_touch_ns(asks, Path::line, tables.bytes1);
  c.memory_ns = first + second_line_ns(second, front, tables.bytes2, calibration);
  if (front) c.memory_ns += calibration.touch_ns(Path::block, s.front_bytes);

  c.lines_hit = (front ? 1 : 0) + 1 + second_hit;
  c.lines_absent = (front ? 1 : 0) + absent_asks * (1 + second_absent);
  c.lines = h * c.lines_hit + (1 - h) * c.lines_absent;
  c.ns = c.work_ns + c.memory_ns;
  return c;
}

const Cost &Answer::best() const {
  return *std::ranges::find_if(costs, [](const Cost &c) { return c.chosen; });
}

Answer choose(const Question &question, const Calibration &calibration) {
  const Sizes sizes = sizes_of(question.family, question.keys);
  Answer answer;
  for (const Option &option : question.candidates)
    answer.costs.push_back(cost_of(question.family, sizes, question.hit_ratio, option, calibration));
  for (Cost &c : answer.costs) c.allowed = automatic(c, answer.costs);
  // From the plainest on: each next one has to be worth what it adds to the best so far.
  std::vector<Cost *> by_plainness;
  for (Cost &c : answer.costs) by_plainness.push_back(&c);
  std::ranges::stable_sort(by_plainness, {}, [](const Cost *c) { return plainness(c->option); });
  Cost *best = nullptr;
  for (Cost *c : by_plainness) {
    if (!c->allowed) continue;
    if (best == nullptr || c->ns < best->ns * (1 - saving_wanted(c->option, best->option))) best = c;
  }
  best->chosen = true;
  answer.chosen = best->option;
  for (Cost &c : answer.costs)
    if (!c.chosen) c.why_not = why_not(c, *best);
  return answer;
}

} // namespace weir::plan
