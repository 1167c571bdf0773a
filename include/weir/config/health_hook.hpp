// `health:` of weir.yaml: a program that weir-control tells whether the gate is well, for bypass cards and routing daemons.
#pragma once

#include <chrono>
#include <filesystem>

namespace weir::config {

struct HealthHook {
  std::filesystem::path exec;       // run with `up` or `down`; empty: nobody is told
  std::chrono::seconds timeout{10}; // of one run
  std::chrono::seconds hold{3};     // that a change has to last before it is told
};

} // namespace weir::config
