#include "control/daemon/notify.hpp"

#include <systemd/sd-daemon.h>

namespace weir::control {

void notify_ready(const std::string &status) { (void)sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void notify_stopping() { (void)sd_notify(0, "STOPPING=1"); }

} // namespace weir::control
