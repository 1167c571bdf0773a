#include "weir/config/check.hpp"

#include "weir/config/kernel_interface.hpp"
#include "weir/config/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::config {
namespace {

void check_mtus(const Port &port, const Port &peer, const auto &add) {
  const unsigned own = mtu_of(port), other = mtu_of(peer);
  if (own < other)
    add("mtu", fmt::format("{}, and {} of its peer \"{}\": longer frames that come there would not fit here; "
                           "write the same for both",
                           own, other, shown(peer.name)));
}

// The kernel can carry frames between interfaces that it has.
void check_bypass(const Config &config, const Port &port, const Port &peer, const auto &add) {
  if (port.on_exit != OnExit::bypass) return;
  if (peer.on_exit != OnExit::bypass)
    add("on_exit",
        fmt::format("bypass, and close at its peer \"{}\"; write the same for both", shown(peer.name)));
  if (!kernel_interface_of(config.eal, port))
    add("on_exit",
        fmt::format("\"{}\" is no interface of the kernel by net_af_packet or net_af_xdp of eal.vdevs: the "
                    "kernel cannot carry its packets. Write close; a card with a bypass of its own is told "
                    "by health.exec",
                    shown(port.device)));
}

} // namespace

void check_pairs(const Config &config, const Places &places, Faults &faults) {
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const Port &port = config.ports[i];
    const auto add = [&](const char *key, std::string_view sentence) {
      faults.add(places.ports[i], fmt::format("ports[{}].{}", i, key), sentence);
    };
    const auto peer = std::ranges::find(config.ports, port.peer, &Port::name);
    if (port.peer.empty() || peer == config.ports.end()) continue;
    check_mtus(port, *peer, add);
    check_bypass(config, port, *peer, add);
  }
}

} // namespace weir::config
