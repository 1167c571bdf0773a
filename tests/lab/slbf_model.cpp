#include "tests/lab/slbf_model.hpp"

#include "weir/build/score_groups_model.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;
using build::ScoreGroup;

constexpr std::array example4{ScoreGroup{0.090, 0.485}, ScoreGroup{0.347, 0.390}, ScoreGroup{0.563, 0.125}};

GroupMisses misses_of(const StableModelTask &task, std::size_t j) {
  GroupMisses out{.told = example4[j].told,
                  .other = example4[j].other,
                  .rate_printed = build::group_rates(example4, task.epsilon, build::Setting::printed)[j],
                  .rate = build::group_rates(example4, task.epsilon, build::Setting::corrected)[j],
                  .printed = {},
                  .solved = {},
                  .own = {}};
  for (unsigned hashes = 1; hashes <= build::stable_hashes_most; ++hashes) {
    build::StableLaw law = build::stable_law(out.rate_printed, hashes, 1);
    out.solved.push_back(build::stable_missed(law, task.group_cells, task.gap));
    law.decrements = build::stable_decrements_printed(out.rate_printed, hashes, 1);
    out.printed.push_back(build::stable_missed(law, task.group_cells, task.gap));
    out.own.push_back(build::stable_missed(build::stable_law(out.rate, hashes, 1), task.group_cells,
                                           task.gap * example4[j].told));
  }
  return out;
}

} // namespace

StableModelReport run_stable_model(const StableModelTask &task) {
  StableModelReport report{
      .task = task, .insertions = {5e4, 1e5, 1e6, 1e7}, .equal_convergence = {}, .groups = {}};
  for (int percent = 30; percent <= 50; percent += 2) {
    EqualConvergence row{percent / 100.0, {}};
    for (const double insertions : report.insertions)
      row.cells.push_back(
          build::equal_convergence_cells(task.cells, task.hashes, insertions, row.false_negatives));
    report.equal_convergence.push_back(std::move(row));
  }
  for (std::size_t j = 0; j < example4.size(); ++j) report.groups.push_back(misses_of(task, j));
  return report;
}

std::string json_of(const StableModelReport &report) {
  const StableModelTask &task = report.task;
  Json json;
  Json &convergence = json["equal_convergence"];
  convergence = {{"cells", task.cells}, {"hashes", task.hashes}, {"insertions", report.insertions}};
  for (const EqualConvergence &row : report.equal_convergence)
    convergence["rows"].push_back({{"false_negatives", row.false_negatives}, {"cells", row.cells}});
  Json &example = json["example4"];
  example = {{"cells", task.group_cells}, {"gap", task.gap}, {"epsilon", task.epsilon}, {"max", 1}};
  for (const GroupMisses &group : report.groups)
    example["groups"].push_back(
        {{"p", group.other},
         {"q", group.told},
         {"rate_printed", group.rate_printed},
         {"rate", group.rate},
         {"fnr_by_hashes", {{"printed", group.printed}, {"solved", group.solved}, {"own_gap", group.own}}}});
  return json.dump(2);
}

} // namespace weir::lab
