#include "tests/lab/building.hpp"

#include "control/plan/stacked_size.hpp"
#include "tests/lab/clock.hpp"
#include "tests/lab/keys.hpp"
#include "tests/support/standings.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/bloom.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

template <class Work> double cpu_seconds(Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) * 1e-9;
}

struct BuildingSamples {
  std::vector<double> sizing, building;
};

plan::StackTask sizing_task(const BuildingTask &task, std::uint64_t negatives) {
  plan::StackTask wanted;
  wanted.positives = static_cast<double>(task.positives);
  wanted.negatives = plan::CostCurve::zipf(std::max<std::uint64_t>(negatives, 1), 0);
  wanted.bits_total = task.bits * wanted.positives;
  wanted.depth_max = negatives == 0 ? 1 : plan::stack_depth_max;
  wanted.seed = task.seed;
  return wanted;
}

// One stack, sized and built from the beginning.
Status build_once(const plan::StackTask &sizing, std::span<const KeyHash> positives,
                  std::span<const KeyHash> negatives, std::uint64_t seed, BuildingReport::Row &row,
                  BuildingSamples &samples) {
  Result<plan::StackPlan> plan;
  samples.sizing.push_back(cpu_seconds([&] { plan = plan::size_stack(sizing); }));
  if (!plan) return std::unexpected(plan.error());
  row.layers = plan->layers.size();
  row.known = static_cast<std::uint64_t>(plan->known);
  Status status;
  samples.building.push_back(cpu_seconds([&] {
    const auto built = build::build_stack<filter::Bloom>(static_cast<unsigned>(row.layers),
                                                         build::PlannedShapes(plan->layers), positives,
                                                         negatives.first(row.known), seed);
    if (!built) status = std::unexpected(built.error());
  }));
  return status;
}

} // namespace

Result<BuildingReport> run_building(const BuildingTask &task) {
  BuildingReport report;
  report.task = task;
  std::uint64_t most = 0;
  std::vector<plan::StackTask> sizing;
  for (const double per_key : task.known_per_key) {
    report.rows.emplace_back().negatives =
        static_cast<std::uint64_t>(per_key * static_cast<double>(task.positives));
    most = std::max(most, report.rows.back().negatives);
    sizing.push_back(sizing_task(task, report.rows.back().negatives));
  }
  const std::vector<KeyHash> positives =
      make_keys(KeySet::addresses, Side::positive, task.positives, task.seed);
  const std::vector<KeyHash> negatives = make_keys(KeySet::addresses, Side::negative, most, task.seed);
  std::vector<BuildingSamples> samples(report.rows.size());
  for (unsigned round = 0; round < task.rounds; ++round)
    for (std::size_t i = 0; i < report.rows.size(); ++i)
      if (const Status built =
              build_once(sizing[i], positives, negatives, task.seed, report.rows[i], samples[i]);
          !built)
        return std::unexpected(built.error());
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    report.rows[i].optimiser_seconds = bench::figure_of(samples[i].sizing).median;
    report.rows[i].build_seconds = bench::figure_of(samples[i].building).median;
  }
  return report;
}

std::string json_of(const BuildingReport &report) {
  nlohmann::ordered_json json;
  json["positives"] = report.task.positives;
  json["bits"] = report.task.bits;
  json["rows"] = nlohmann::ordered_json::array();
  for (const BuildingReport::Row &row : report.rows)
    json["rows"].push_back({{"negatives", row.negatives},
                            {"known_negatives", row.known},
                            {"layers", row.layers},
                            {"optimiser_seconds", row.optimiser_seconds},
                            {"build_seconds", row.build_seconds}});
  return json.dump(2);
}

} // namespace weir::lab
