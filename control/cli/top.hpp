// `weirctl top`: a screen that lives as long as somebody looks, or frames of text where there is no terminal.
#pragma once

#include "control/cli/options.hpp"

#include <iosfwd>

namespace weir::cli {

// Whether `out` is the terminal that a screen can be shown on, and the options want one.
[[nodiscard]] bool wants_screen(const Options &options, const std::ostream &out);

// The exit code. Without a terminal: as many frames as the options say.
[[nodiscard]] int top(const Options &options, std::ostream &out, std::ostream &err);

} // namespace weir::cli
