// `weirctl registers`: what a configuration puts into the registers of the P4 program (p4/README.md), as text
// for targets that weir does not drive itself.
#pragma once

#include "weir/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace weir::control {
class Progress; // control/base/progress.hpp
}

namespace weir::cli {

// Builds the image that a P4 target would get and writes its registers to `out`. Fields out, bytes,
// image_bytes and entries. Errors: faults of the rules, one a line; refused, for what the program cannot do;
// io.
[[nodiscard]] Result<nlohmann::json> write_registers(const std::filesystem::path &config,
                                                     const std::filesystem::path &out,
                                                     control::Progress *progress = nullptr);

} // namespace weir::cli
