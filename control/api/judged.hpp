// What a judge (compact mode) denies, held against the rules: the class map of an image names some list for an address that no
// rule denies.
#pragma once

#include "control/engine/engine.hpp"

namespace weir::control {

// No deny list of the rules in force has a prefix around it, though the gate is in compact mode: counts as `compact`.
[[nodiscard]] bool denied_in_error(const Engine &engine, const Address &address);

} // namespace weir::control
