#include "control/api/judged.hpp"

namespace weir::control {

bool denied_in_error(const Engine &engine, const Address &address) {
  const auto &rules = engine.rules();
  return rules != nullptr && rules->config.compact && !rules->denies(address) &&
         !denies_dynamically(*rules, engine.dynamic(), address);
}

} // namespace weir::control
