#include "control/daemon/notify.hpp"

#include <systemd/sd-daemon.h>

#include <cinttypes>

namespace weir::control {

void notify_reading(std::uint64_t store_bytes) {
  constexpr std::uint64_t usec_at_least = 90'000'000, bytes_a_usec = 4;
  (void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=reading the rules",
                   usec_at_least + store_bytes / bytes_a_usec);
}

void notify_ready(const std::string &status) { (void)sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void notify_stopping() { (void)sd_notify(0, "STOPPING=1"); }

} // namespace weir::control
