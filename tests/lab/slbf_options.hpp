#pragma once

#include "tests/lab/slbf.hpp"
#include "tests/lab/slbf_model.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

// The command line of `weir-lab slbf`.
void add_slbf(CLI::App &app, SlbfTask &task);
// Of `weir-lab slbf-model`.
void add_slbf_model(CLI::App &app, StableModelTask &task);

} // namespace weir::lab
