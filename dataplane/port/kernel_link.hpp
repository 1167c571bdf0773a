// A network interface of the kernel, as it is and as a port wants it. All errors name it.
#pragma once

#include "weir/base/result.hpp"

#include <string>

namespace weir::dataplane {

struct KernelLink {
  int index = 0;
  unsigned mtu = 0, mtu_min = 0, mtu_max = 0; // bytes; mtu_max 0: its driver does not say
  bool is_up = false;                         // by the administrator
  bool has_carrier = false;                   // and by the other end
};

[[nodiscard]] Result<KernelLink> look_at_link(const std::string &name);

// Nothing is asked of the kernel where it is so already. config: the value is beyond what the interface takes.
[[nodiscard]] Status set_link_mtu(const std::string &name, unsigned mtu);
// Takes the link down as `ip link set down` does, which the other end sees; or up again.
[[nodiscard]] Status set_link_up(const std::string &name, bool up);
[[nodiscard]] Status set_link_promiscuous(const std::string &name);

} // namespace weir::dataplane
