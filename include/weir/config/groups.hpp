// The groups of the system that may ask weir-control, from weir.yaml. Only weir-control needs them, when it
// starts: they are not part of the rules, and a configuration that is applied later does not change them.
#pragma once

#include "weir/base/result.hpp"

#include <filesystem>
#include <string>

namespace weir::config {

struct Groups {
  std::string read, write; // paths.read_group, paths.write_group; empty: not given
};

// An error when a configuration that speaks of groups has faults.
[[nodiscard]] Result<Groups> groups(const std::string &text, const std::filesystem::path &name);

// The text of a configuration, or an error that names the file and why.
[[nodiscard]] Result<std::string> read(const std::filesystem::path &file);

} // namespace weir::config
