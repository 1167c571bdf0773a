// Tells systemd how the service is doing; does nothing when it was not started by systemd.
#pragma once

#include <string>

namespace weir::control {

void notify_ready(const std::string &status);
void notify_stopping();

} // namespace weir::control
