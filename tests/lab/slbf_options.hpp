#pragma once

#include "tests/lab/slbf.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

// The command line of `weir-lab slbf`.
void add_slbf(CLI::App &app, SlbfTask &task);

} // namespace weir::lab
