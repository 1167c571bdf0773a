// The files that came with a request. weir-control opens none that a request names: it would read and
// overwrite with its own rights what the caller may not.
#pragma once

#include "control/api/request.hpp"
#include "control/rules/bundle.hpp"
#include "weir/base/result.hpp"

#include <memory>
#include <string>

namespace weir::control {

// Null when nothing is named: then the daemon's own configuration is meant. A name without files is refused.
[[nodiscard]] Result<std::shared_ptr<const rules::Bundle>> files_of(const Caller &caller,
                                                                    const std::string &named);

} // namespace weir::control
