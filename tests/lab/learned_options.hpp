#pragma once

#include "tests/lab/learned.hpp"
#include "tests/lab/learned_rival.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

// Of `weir-lab classifiers`.
void add_classifiers(CLI::App &app, ClassifiersTask &task);
void add_learned(CLI::App &app, LearnedTask &task);
void add_rival(CLI::App &app, RivalTask &task);

} // namespace weir::lab
