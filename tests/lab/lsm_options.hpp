#pragma once

#include "tests/lab/lsm.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_lsm(CLI::App &app, LsmTask &task);

} // namespace weir::lab
