// What the memory of offenders says of itself and of an address.
#pragma once

#include "dataplane/gate/dataplane.hpp"
#include "weir/key/traits.hpp"
#include "weir/lookup/explain.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace weir::dataplane {

// {"filter":"none"} where nothing is remembered. Takes the lock of the generations.
[[nodiscard]] nlohmann::ordered_json offenders_json(const Dataplane &dataplane);

// Of an address that no list decides about: whether the memory takes its packets for an offender's. Under the element
// `header` that depends on the packet: without its traits, this is said.
void explain_offender(const AttachedImage &image, const Address &address, const std::optional<Traits> &traits,
                      lookup::Explanation &why);

} // namespace weir::dataplane
