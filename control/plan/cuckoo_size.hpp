// Sizes a cuckoo filter: keys and bits in, shape and predicted rates out. It favours no key over another, so
// costs do not matter, and churn does not wear it: the rate follows the number of keys alone.
#pragma once

#include "control/plan/allow_filter_kinds.hpp"
#include "weir/build/cuckoo_builder.hpp"

#include <optional>

namespace weir::plan {

// Of the slots, when as many keys are present as were planned for. Beyond it keys that come have to wait for
// others to move, and the control plane builds a larger one; 95 % is what the table takes.
inline constexpr double cuckoo_load_planned = 0.9;

struct CuckooPlan {
  build::CuckooParams params;
  double rate_new = 0, rate_full = 0; // of absent keys, with the keys there are and with those planned for
};

// `bits_total` of the section, header and padding included. Nothing when not even short fingerprints fit.
[[nodiscard]] inline std::optional<CuckooPlan> size_cuckoo(std::uint64_t keys, std::uint64_t planned_keys,
                                                           std::uint64_t bits_total) {
  constexpr std::uint64_t around = 8 * (sizeof(filter::FilterHeader) + cache_line_bytes);
  const auto shape = filter::cuckoo_shape_for(planned_keys, bits_total > around ? bits_total - around : 0,
                                              cuckoo_load_planned);
  if (!shape) return std::nullopt;
  return CuckooPlan{{planned_keys, *shape},
                    filter::cuckoo_rate(*shape, static_cast<double>(keys)),
                    filter::cuckoo_rate(*shape, static_cast<double>(planned_keys))};
}

extern const AllowFilterPlanner cuckoo_planner;

} // namespace weir::plan
