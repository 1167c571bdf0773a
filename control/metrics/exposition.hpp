// Metrics in the text format 0.0.4 of Prometheus: what weir-control and the dataplane count, in base units where there are some,
// and never a series for an entry. Of more lists than `lists_max` the first have a series each and the others are
// one, `other`.
#pragma once

#include "control/base/change_tally.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::metrics {

inline constexpr std::size_t lists_max = 500;
inline constexpr const char *content_type = "text/plain; version=0.0.4; charset=utf-8";

// What one scrape is made of: answers of the verbs of the same names (control/api/api.hpp). `stats` without members: the
// dataplane does not answer, and what it counts is left out.
struct Scrape {
  const nlohmann::json &status, &stats, &lists;
  const control::ChangeTally &changes;
};

[[nodiscard]] std::string exposition(const Scrape &scrape);

} // namespace weir::metrics
