#include "tests/lab/lsm.hpp"

#include "tests/lab/lsm_filters.hpp"
#include "tests/lab/lsm_tables.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace weir::lab {
namespace {

struct Answer {
  std::optional<unsigned> newest;
  unsigned read = 0, in_vain = 0; // runs
};

// A lookup through filters, in the order that they ask for. Without repeats a key that was found is in no other run.
template <bool oldest_first>
Answer look_up(const LsmFilters &filters, LsmTables &tables, const LsmQuestion &question, unsigned runs,
               bool stop_when_found) {
  Answer answer;
  for (unsigned i = 0; i < runs; ++i) {
    const unsigned run = oldest_first ? i : runs - 1 - i;
    if (!filters.of_run.empty() && !filters.of_run[run]->contains(question.hash)) continue;
    ++answer.read;
    if (const auto found = tables.read(run, question.key)) {
      answer.newest = found;
      if (stop_when_found) return answer;
    } else {
      ++answer.in_vain;
      if (filters.one_in_vain) return answer;
    }
  }
  return answer;
}

struct Runner {
  const LsmTask &task;
  LsmTables &tables;
  LsmFilters filters;
  LsmArm arm;
  bool get = false;

  Answer operator()(const LsmQuestion &question) {
    if (get) return {tables.get(question.key)};
    return filters.oldest_first ? look_up<true>(filters, tables, question, task.runs, task.repeats == 0)
                                : look_up<false>(filters, tables, question, task.runs, true);
  }
};

// The pass that counts; it also brings files and filters in.
void count(Runner &runner, const std::vector<LsmQuestion> &questions, LsmReads &reads) {
  LsmTables::count_blocks(true);
  std::uint64_t all = 0, vain = 0;
  for (const LsmQuestion &question : questions) {
    const std::uint64_t before = LsmTables::blocks_read();
    Answer answer = runner(question);
    if (runner.get) { // a block a run, since indices are in memory
      answer.read = static_cast<unsigned>(LsmTables::blocks_read() - before);
      answer.in_vain = answer.read - (answer.newest && answer.read > 0 ? 1 : 0);
    }
    if (answer.newest != question.newest) ++runner.arm.wrong;
    all += answer.read;
    vain += answer.in_vain;
    reads.runs_read_most = std::max<std::uint64_t>(reads.runs_read_most, answer.read);
    reads.in_vain_most = std::max<std::uint64_t>(reads.in_vain_most, answer.in_vain);
    ++reads.in_vain[std::min<std::size_t>(answer.in_vain, reads.in_vain.size() - 1)];
  }
  const auto n = static_cast<double>(questions.size());
  reads.runs_read = static_cast<double>(all) / n;
  reads.runs_in_vain = static_cast<double>(vain) / n;
  reads.blocks_read = static_cast<double>(LsmTables::blocks_read()) / n;
  LsmTables::count_blocks(false);
}

using Samples = std::vector<std::uint32_t>; // ns, of every question

void time_round(Runner &runner, const std::vector<LsmQuestion> &questions, Samples &samples) {
  using Clock = std::chrono::steady_clock;
  samples.reserve(questions.size());
  auto before = Clock::now();
  for (const LsmQuestion &question : questions) {
    if (runner(question).newest != question.newest) ++runner.arm.wrong;
    const auto after = Clock::now();
    samples.push_back(static_cast<std::uint32_t>(std::chrono::nanoseconds(after - before).count()));
    before = after;
  }
}

// Each question at the median of its rounds: what else ran on the machine in one of them does not count.
void take_percentiles(const std::vector<Samples> &rounds, bool curve, LsmReads &reads) {
  Samples of_question(rounds.size()), medians;
  for (std::size_t q = 0; q < rounds.front().size(); ++q) {
    for (std::size_t round = 0; round < rounds.size(); ++round) of_question[round] = rounds[round][q];
    const auto middle = of_question.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    std::nth_element(of_question.begin(), middle, of_question.end());
    medians.push_back(*middle);
  }
  std::ranges::sort(medians);
  const auto at = [&](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(medians.size()));
    return medians[std::min(place, medians.size() - 1)] / 1e3;
  };
  for (int percent = 0; curve && percent < 100; ++percent) reads.curve.push_back(at(percent / 100.0));
  reads.p50 = at(0.5);
  reads.p90 = at(0.9);
  reads.p95 = at(0.95);
  reads.p99 = at(0.99);
  reads.p999 = at(0.999);
  reads.mean =
      std::accumulate(medians.begin(), medians.end(), 0.0) / 1e3 / static_cast<double>(medians.size());
  reads.lookups_per_second = 1e6 / reads.mean;
}

constexpr std::array<LsmReads LsmArm::*, 3> kinds{&LsmArm::present, &LsmArm::absent, &LsmArm::zipf};

Status ask(std::vector<Runner> &runners, const LsmData &data, const LsmTask &task) {
  const std::array questions{data.present(task.lookups), data.absent(task.lookups), data.zipf(task.lookups)};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    for (Runner &runner : runners) count(runner, questions[kind], runner.arm.*kinds[kind]);
    std::vector<std::vector<Samples>> samples(runners.size(), std::vector<Samples>(task.rounds));
    for (unsigned round = 0; round < task.rounds; ++round)
      for (std::size_t i = 0; i < runners.size(); ++i) {
        const std::size_t who = (i + round) % runners.size();
        time_round(runners[who], questions[kind], samples[who][round]);
      }
    for (std::size_t i = 0; i < runners.size(); ++i)
      take_percentiles(samples[i], task.curve, runners[i].arm.*kinds[kind]);
  }
  return runners.front().tables.fault();
}

} // namespace

bool LsmTask::wants(std::string_view arm) const {
  return only.empty() || std::ranges::find(only, arm) != only.end();
}

Result<LsmReport> run_lsm(const LsmTask &asked) {
  LsmTask task = asked;
  if (task.hot == 0) task.hot = task.keys;
  LsmReport report{.task = task, .arms = {}};
  const LsmData data(task);
  report.entries = data.entries();
  const auto entries = static_cast<double>(report.entries);
  std::optional<LsmFilters> chained;
  report.bits_per_key = task.bits;
  if (task.bits == 0 || task.wants("chained")) {
    chained = TRY(build_lsm_filters("chained", data, task, 0));
    if (task.bits == 0) report.bits_per_key = static_cast<double>(chained->bits) / entries;
    report.record_bytes_per_key = static_cast<double>(chained->record_bytes) / entries;
    report.excluded = chained->excluded;
  }
  auto tables = TRY(LsmTables::create(task, report.bits_per_key));
  std::vector<Runner> runners;
  for (const std::string_view name : lsm_arm_names) {
    if (!task.wants(name)) continue;
    Runner runner{.task = task, .tables = tables, .filters = {}, .arm = {}};
    runner.arm.name = name;
    runner.get = name == "rocksdb_get";
    if (name == "chained")
      runner.filters = std::move(*chained);
    else
      runner.filters = TRY(build_lsm_filters(name, data, task, report.bits_per_key));
    runner.arm.bits_per_key = static_cast<double>(runner.filters.bits) / entries;
    runner.arm.build_seconds = runner.filters.build_seconds;
    runners.push_back(std::move(runner));
  }
  TRY(tables.write(data));
  TRY(tables.open(task.wants("rocksdb_get")));
  report.table_bytes = tables.bytes();
  TRY(ask(runners, data, task));
  for (Runner &runner : runners) {
    if (runner.get) runner.arm.bits_per_key = 8 * static_cast<double>(tables.get_filter_bytes()) / entries;
    report.arms.push_back(std::move(runner.arm));
  }
  return report;
}

} // namespace weir::lab
