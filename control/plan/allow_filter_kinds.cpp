#include "control/plan/allow_filter_kinds.hpp"

#include "control/plan/allow_stack_size.hpp"
#include "control/plan/cuckoo_size.hpp"
#include "control/plan/seesaw_size.hpp"

#include <array>

namespace weir::plan {

AllowFilterPlanners allow_filter_planners() noexcept {
  static constexpr std::array planners{
      &seesaw_planner,
      &cuckoo_planner,
      &allow_stack_planner,
  };
  return planners;
}

} // namespace weir::plan
