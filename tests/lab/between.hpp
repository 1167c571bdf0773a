// A range that an option of weir-lab is held against, without the description that CLI11 would put into the help.
#pragma once

#include <CLI/CLI.hpp>

namespace weir::lab {

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace weir::lab
