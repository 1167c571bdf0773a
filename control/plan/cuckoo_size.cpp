#include "control/plan/cuckoo_size.hpp"

#include <fmt/format.h>

namespace weir::plan {

const AllowFilterPlanner cuckoo_planner{
    .name = "cuckoo",
    .noun = "a cuckoo filter",
    .guarded_word = {},
    .size = [](const AllowFilterTask &task) -> Result<SizedAllowFilter> {
      const auto sized = size_cuckoo(task.keys, task.planned_keys, task.bits_total);
      if (!sized)
        return fail(Errc::usage, fmt::format("a cuckoo filter for {} keys does not fit into {} bits; give it "
                                             "more with allow.bits_per_key",
                                             task.planned_keys, task.bits_total));
      const unsigned bits = sized->params.shape.fingerprint_bits;
      return SizedAllowFilter{
          .params = sized->params,
          .rates = {sized->rate_new, sized->rate_new, sized->rate_full, sized->rate_full},
          .json = fmt::format(R"("fingerprint_bits":{},"buckets":{})", bits, sized->params.shape.buckets),
          .text = fmt::format("fingerprints of {} bits; ", bits)};
    }};

} // namespace weir::plan
