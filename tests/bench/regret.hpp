// What following the plan costs: at each measured point the planner is asked, with nothing but keys,
// share of hits and its calibration of this machine, and what it chose is held against the fastest
// candidate of the race.
#pragma once

#include "control/plan/cost.hpp"
#include "tests/bench/candidates.hpp"
#include "tests/bench/race.hpp"

namespace weir::bench {

// Of this machine, measured when it is first asked for, as control does when it first plans.
[[nodiscard]] const plan::Calibration &calibration(const Options &options);
// Measures it anew: neighbours whose traffic changes within the minutes of a benchmark are no fault of the model.
void calibrate(const Options &options);

class Regret {
public:
  Regret(const Options &options, Family family, const char *family_name);

  // `outcomes` are those of plan_shapes(), in their order. Where the choice looks dearer than the fastest by
  // more than a twentieth, about what a round is off by here, `more` has the race go on first.
  void at(std::uint64_t keys, double hit_percent, std::vector<Outcome> outcomes,
          const std::function<void(std::vector<Outcome> &)> &more);

  // Shows the points, and hands over the worst of them.
  void finish(std::vector<Standing> &standings) const;

private:
  const Options &options_;
  Family family_;
  std::string family_name_;
  Grid grid_{{"keys", "hits", "chosen by the plan", "fastest", "cost of chosen / fastest"}, {}};
  Figure worst_{0, 0};
};

} // namespace weir::bench
