#include "tests/lab/slbf.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/slbf_filters.hpp"
#include "tests/support/standings.hpp"

#include <algorithm>
#include <bit>

namespace weir::lab {
namespace {

constexpr unsigned looks = 37;              // at wrong accepts, at as many places in a turn of the gap
constexpr std::size_t timed_keys = 200'000; // a round
constexpr unsigned timed_rounds = 5;

// What a loop found, so that none is left out by the compiler.
volatile std::uint64_t remembered_last;

template <class F>
std::uint64_t accepted(const F &filter, const ScoredKeysOf &keys, std::size_t from, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = from; i < from + count; i += filter::batch_max) {
    const std::size_t size = std::min(filter::batch_max, from + count - i);
    sum += static_cast<unsigned>(std::popcount(filter.contains_batch(
        std::span(keys.keys).subspan(i, size), std::span(keys.scores).subspan(i, size))));
  }
  return sum;
}

// As many as make the share of accepted ones stray by 1.6 % of itself by chance, where there are as many.
std::size_t asked_a_look(double rate, std::size_t others) {
  return std::min(others, static_cast<std::size_t>(std::max(4'000 / rate, 40'000.0)));
}

bool is_look(std::size_t at, std::size_t count) { return (at + 1) * looks / count != at * looks / count; }

// The stream goes by once. Settled: its second half.
template <class F>
void watch(F &filter, const SlbfTask &task, const ScoredStream &stream, bool fills_up, SlbfFilter &out) {
  const std::size_t count = stream.told.keys.size(), settled = count / 2;
  const std::size_t ask = asked_a_look(task.rate, stream.others.keys.size());
  std::uint64_t asked = 0, missed = 0, looked = 0;
  std::size_t next = 0;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    filter.insert(stream.told.keys[i], stream.told.scores[i]);
    if (i >= settled && i >= task.gap) {
      ++asked;
      missed += filter.contains(stream.told.keys[i - task.gap], stream.told.scores[i - task.gap]) ? 0 : 1;
    }
    if (!is_look(i, count)) continue;
    if (next + ask > stream.others.keys.size()) next = 0;
    const double rate =
        static_cast<double>(accepted(filter, stream.others, next, ask)) / static_cast<double>(ask);
    next += ask;
    out.fpr_by_look.push_back(rate);
    out.fpr_most = std::max(out.fpr_most, rate);
    if (i < settled) continue;
    sum += rate;
    ++looked;
  }
  out.measured.fnr = static_cast<double>(missed) / static_cast<double>(std::max<std::uint64_t>(asked, 1));
  out.measured.fpr =
      fills_up ? out.fpr_by_look.back() : sum / static_cast<double>(std::max<std::uint64_t>(looked, 1));
}

// Million operations a second; half of the questions are for keys of the stream.
template <class F>
void time_round(F &filter, const ScoredStream &stream, std::vector<double> &insert,
                std::vector<double> &query) {
  const ScoredKeysOf &told = stream.told;
  const std::size_t count = std::min({timed_keys, told.keys.size(), stream.others.keys.size()});
  const double start = cpu_ns();
  for (std::size_t i = 0; i < count; i += filter::batch_max) {
    const std::size_t size = std::min(filter::batch_max, count - i);
    filter.insert_batch(std::span(told.keys).subspan(i, size), std::span(told.scores).subspan(i, size));
  }
  const double middle = cpu_ns();
  remembered_last = accepted(filter, told, 0, count) + accepted(filter, stream.others, 0, count);
  const double end = cpu_ns();
  insert.push_back(static_cast<double>(count) / (middle - start) * 1e3);
  query.push_back(static_cast<double>(2 * count) / (end - middle) * 1e3);
}

SlbfSetting model_of(build::Setting setting, std::span<const build::ScoreGroup> groups, double rate,
                     double bits_a_gap) {
  SlbfSetting out{.setting = setting, .groups = build::set_groups(groups, rate, bits_a_gap, setting)};
  out.rate = build::groups_rate(groups, out.groups);
  out.missed = build::groups_missed(groups, out.groups);
  out.missed_printed = build::groups_missed_printed(groups, out.groups);
  return out;
}

} // namespace

Result<SlbfReport> run_slbf(const SlbfTask &given) {
  SlbfTask task = given;
  if (task.bits != 0 && task.bits < task.model_bits + 64 * 64) // before a stream is made in vain
    return fail(Errc::usage, "--bits must be 4096 more than the classifier's at least");
  const ScoredStream stream = TRY(make_stream(task.stream));
  if (task.model_bits == 0) task.model_bits = stream.model_bits;
  if (task.bits != 0 && task.bits < task.model_bits + 64 * 64)
    return fail(Errc::usage, "--bits must be 4096 more than the classifier's " +
                                 std::to_string(task.model_bits) + " at least");
  if (stream.told.keys.size() < 3 * task.gap)
    return fail(Errc::usage, "the stream must have three times as many insertions as the gap");
  SlbfReport report;
  report.task = task;
  report.auc = stream.auc;
  report.capture = stream.capture;
  report.model_mops = stream.model_mops;
  const auto thresholds = thresholds_of(task, stream);
  report.groups = static_cast<unsigned>(thresholds.size() + 1);
  report.estimated = build::estimate_groups(thresholds, stream.sample_told, stream.sample_others);
  report.least = least_bits(task, stream);
  const double bits_a_gap = task.bits != 0
                                ? static_cast<double>(task.bits - std::min(task.bits, task.model_bits)) /
                                      static_cast<double>(task.gap)
                                : report.least.g_slbf;
  for (const auto setting : {build::Setting::printed, build::Setting::corrected, build::Setting::best})
    report.settings.push_back(model_of(setting, report.estimated, task.rate, bits_a_gap));

  for (std::size_t i = 0; i < stream.told.keys.size(); ++i)
    if (is_look(i, stream.told.keys.size())) report.looked_after.push_back(i + 1);
  report.asked_a_look = asked_a_look(task.rate, stream.others.keys.size());
  auto contenders = TRY(make_contenders(task, stream, report.least));
  for (StreamContender &one : contenders) {
    SlbfFilter out;
    out.name = one.name;
    out.learned = one.learned;
    std::visit([&](auto &filter) { watch(filter, task, stream, one.fills_up, out); }, one.filter);
    out.bits = std::visit([](const auto &filter) { return filter.bits(); }, one.filter) +
               (one.learned ? task.model_bits : 0);
    out.predicted = one.predicted;
    report.filters.push_back(std::move(out));
  }
  if (!task.timing) return report;
  std::vector<std::vector<double>> insert(contenders.size()), query(contenders.size());
  for (unsigned round = 0; round < timed_rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      std::visit([&](auto &filter) { time_round(filter, stream, insert[i], query[i]); },
                 contenders[i].filter);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    report.filters[i].insert_mops = bench::figure_of(insert[i]).median;
    report.filters[i].query_mops = bench::figure_of(query[i]).median;
  }
  return report;
}

} // namespace weir::lab
