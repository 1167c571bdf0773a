// Tells systemd how the service is doing; does nothing when it was not started by systemd.
#pragma once

#include <cstdint>
#include <string>

namespace weir::control {

// A store of so many bytes is about to be read: a minute and a half is systemd's patience, and reading 256 million
// hosts took longer on a busy machine. Four million bytes a second are half of what was measured there.
void notify_reading(std::uint64_t store_bytes);
void notify_ready(const std::string &status);
void notify_stopping();

} // namespace weir::control
