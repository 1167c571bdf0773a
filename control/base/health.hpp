// What is wrong with a gate, by an answer of `status`: what `weirctl status` begins with, what `weirctl health` makes its
// exit code of, and what load balancers and bypass cards are told.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace weir::control {

// Sentences without a full stop, of one line each but for the reason of a failure.
struct Health {
  std::vector<std::string> faults;   // packets are not judged by the rules that control owns, or cannot pass
  std::vector<std::string> warnings; // they are, and somebody should look all the same
};

[[nodiscard]] Health health_of(const nlohmann::json &status);

} // namespace weir::control
