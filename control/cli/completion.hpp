// The bash completion script, made from the verbs and options that options.cpp knows.
#pragma once

#include <string>

namespace weir::cli {

[[nodiscard]] std::string bash_completion();

} // namespace weir::cli
