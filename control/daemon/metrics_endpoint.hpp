// Metrics of this weir-control where the rules in force say (metrics.listen): begins, moves and ends with them. An address that
// cannot be had is said once, and tried again.
#pragma once

#include "control/api/api.hpp"
#include "control/engine/engine.hpp"
#include "control/metrics/listener.hpp"

#include <string>

namespace weir::control {

class MetricsEndpoint {
public:
  MetricsEndpoint(push::EventLoop &loop, Engine &engine, Api &api);

  void follow(); // the rules in force; now and then

private:
  void gather(metrics::Path path, const metrics::Listener::Then &then);

  Engine &engine_;
  Api &api_;
  metrics::Listener listener_;
  std::string wanted_, trouble_;
  push::Clock::time_point again_{};
};

} // namespace weir::control
