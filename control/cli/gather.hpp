// What weirctl reads for weir-control, with the rights of who calls it: a configuration with the lists that
// it names, or one list. The daemon opens no file that a request names (control/rules/bundle.hpp).
#pragma once

#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <filesystem>

namespace weir::cli {

// All faults in one error: those of the configuration, else one line for each list that cannot be read.
[[nodiscard]] Result<OwnedFd> gather_configuration(const std::filesystem::path &file);
[[nodiscard]] Result<OwnedFd> gather_list(const std::filesystem::path &file);

} // namespace weir::cli
