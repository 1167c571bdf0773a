// Who carries packets between two interfaces of the kernel while no weir-dataplane does (`on_exit: bypass`): the kernel,
// by a filter at the ingress of each that redirects every frame to the other one's egress.
//
//   ip link        left0 ---- clsact ingress: u32 (any frame) -> mirred egress redirect ---> right0
//                  left0 <---- mirred egress redirect <- u32 (any frame): clsact ingress ---- right0
//
// A bridge would keep back frames to the group addresses of 802.1D (STP, LACP, LLDP), learn addresses, speak for itself and
// pass through netfilter; weir does nothing of this, and neither do these filters. They stand at a priority of their own,
// by which they are found and taken away. A packet socket sees a frame before they do: while weir receives they must not be
// there, or each packet would leave twice.
#pragma once

#include "weir/base/result.hpp"
#include "weir/config/config.hpp"

#include <string>
#include <vector>

namespace weir::dataplane {

struct BypassPair {
  std::string one, other; // interfaces
  friend bool operator==(const BypassPair &, const BypassPair &) = default;
};

// Of the ports that say so, each pair once.
[[nodiscard]] std::vector<BypassPair> bypass_pairs(const config::Config &config);

// Both directions of each pair, whatever was there before. Errors name the interface; CAP_NET_ADMIN is needed.
[[nodiscard]] Status set_bypass(const std::vector<BypassPair> &pairs, bool on);

// The bypass of a process: away while its ports run, there again when they have stopped.
class Bypass {
public:
  explicit Bypass(std::vector<BypassPair> pairs) : pairs_(std::move(pairs)) {}
  ~Bypass() { put_back(); }
  Bypass(const Bypass &) = delete;
  Bypass &operator=(const Bypass &) = delete;

  [[nodiscard]] bool is_wanted() const noexcept { return !pairs_.empty(); }
  [[nodiscard]] Status take_away(); // before a port starts
  void put_back();                  // what was taken away; a failure is told on stderr

private:
  std::vector<BypassPair> pairs_;
  bool away_ = false;
};

} // namespace weir::dataplane
