#include "control/plan/lookups.hpp"

#include "control/base/answers.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::plan {

using push::child, push::count_in;

namespace {

std::uint64_t packets_of(const nlohmann::json &of, const char *name) {
  const nlohmann::json &verdicts = child(of, name);
  return count_in(verdicts, "pass") + count_in(verdicts, "drop");
}

} // namespace

// Behind a front filter a table is asked less often than there are questions.
HitMeter::Reading lookups_in(const nlohmann::json &report) {
  const nlohmann::json &families = child(report, "families"), &reasons = child(report, "reasons");
  const std::uint64_t packets = packets_of(families, "ipv4") + packets_of(families, "ipv6");
  return {std::max(packets, count_in(child(report, "lookups"), "probes")),
          packets_of(reasons, "deny") + packets_of(reasons, "allow")};
}

} // namespace weir::plan
