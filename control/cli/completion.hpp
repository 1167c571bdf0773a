// Completion scripts for shells, made from the verbs and options that options.cpp knows.
#pragma once

#include <string>
#include <string_view>

namespace weir::cli {

// "zsh", or bash for any other word.
[[nodiscard]] std::string completion_for(std::string_view shell);

} // namespace weir::cli
