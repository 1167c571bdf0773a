// `weirctl drops -f`: dropped packets as they come, a line each or into capture files, until it is interrupted.
#pragma once

#include "control/cli/options.hpp"
#include "control/cli/render.hpp"

#include <iosfwd>
#include <string>

namespace weir::cli {

// The exit code. Complaints go to `err`, and at the end how many packets there were.
[[nodiscard]] int follow_drops(const Options &options, std::ostream &out, std::ostream &err);

// One packet of the answer, without a newline: time, port, why, whose, what.
[[nodiscard]] std::string drop_line(const Json &packet);
// What stands beside it in a capture file: "deny list drop 203.0.113.0/24 SBL256894".
[[nodiscard]] std::string drop_comment(const Json &packet);

} // namespace weir::cli
