#include "control/daemon/notify.hpp"

#include "weir/base/notify.hpp"

#include <fmt/format.h>

namespace weir::control {

void notify_reading(std::uint64_t store_bytes) {
  constexpr std::uint64_t usec_at_least = 90'000'000, bytes_a_usec = 4;
  notify(fmt::format("EXTEND_TIMEOUT_USEC={}\nSTATUS=reading the rules",
                     usec_at_least + store_bytes / bytes_a_usec));
}

void notify_ready(const std::string &status) { notify("READY=1\nSTATUS=" + status); }

void notify_stopping() { notify("STOPPING=1"); }

} // namespace weir::control
