#include "control/base/health.hpp"

#include "control/base/answers.hpp"
#include "control/base/texts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::control {

namespace {

using nlohmann::json;
using push::child, push::count_in, push::flag_in, push::has_number, push::lines_in, push::text_in;

void look_at_dataplane(const json &dataplane, bool has_rules, Health &health) {
  if (!flag_in(dataplane, "connected")) {
    const auto trouble = text_in(dataplane, "trouble", "");
    health.faults.push_back("dataplane not connected: it keeps its last generation; changes are stored and "
                            "sent when it is back" +
                            (trouble.empty() ? "" : " (" + trouble + ")"));
    return;
  }
  if (const auto silence = text_in(dataplane, "silence", ""); !silence.empty())
    health.faults.push_back(silence + "; what it counts is not known, changes are stored and sent when it is "
                                      "back");
  if (const auto displaced = text_in(dataplane, "displaced", ""); !displaced.empty())
    health.faults.push_back("not in force: " + displaced);
  else if (has_rules && has_number(dataplane, "generation") && count_in(dataplane, "generation") == 0)
    health.faults.emplace_back("the dataplane has no rules yet: policy.no_image decides");
  else if (has_rules && dataplane.contains("in_sync") && !flag_in(dataplane, "in_sync"))
    health.faults.push_back(
        "not in force: the dataplane has not been brought up to date yet and judges by generation " +
        text_in(dataplane, "generation"));
  for (const json &port : child(dataplane, "ports"))
    if (text_in(port, "link", "") == "down")
      health.faults.push_back(
          fmt::format("port {} has no link: no packet comes in or leaves there; look at its cable, "
                      "its optics and the other end",
                      text_in(port, "name")));
  for (const json &fault : child(dataplane, "faults"))
    if (fault.is_string()) health.faults.push_back(fault.get<std::string>());
  for (const json &warning : child(dataplane, "warnings"))
    if (warning.is_string()) health.warnings.push_back(warning.get<std::string>());
}

} // namespace

Health health_of(const json &status) {
  Health health;
  const bool has_rules = count_in(status, "generation") > 0;
  if (!has_rules)
    health.faults.emplace_back("no generation yet: nothing is enforced; policy.no_image decides");
  look_at_dataplane(child(status, "dataplane"), has_rules, health);
  if (flag_in(child(status, "store"), "full"))
    health.warnings.emplace_back("state folder full: changes are refused, forwarding goes on");
  if (const auto error = lines_in(status, "error"); !error.empty())
    health.warnings.push_back("last failure: " + error);
  if (const auto back = text_in(status, "taking_back", ""); !back.empty()) health.warnings.push_back(back);
  return health;
}

} // namespace weir::control
