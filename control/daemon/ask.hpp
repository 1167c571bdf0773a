// Questions that weir-control asks itself, as its own user would over the socket.
#pragma once

#include "control/api/api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace weir::control {

// The answer of a verb without fields; an empty object where it is refused. Now or later, once.
void ask_api(Api &api, const std::string &verb, std::function<void(nlohmann::json)> got);

// Whether the gate is well, in one line: what is in force, or the first thing that is wrong.
struct Told {
  bool is_well = false;
  std::string sentence;
};
[[nodiscard]] Told told_of(const nlohmann::json &status);
void ask_health(Api &api, std::function<void(Told)> got);

} // namespace weir::control
