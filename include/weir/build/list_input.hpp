// Lists as the effective state and the image builder have them.
#pragma once

#include "weir/base/number.hpp"
#include "weir/key/side.hpp"

#include <string>

namespace weir::build {

struct ListInput {
  std::string name;
  ListId number{};
  Side side = Side::deny;
};

} // namespace weir::build
