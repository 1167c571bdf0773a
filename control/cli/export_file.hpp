// What weir-control wrote into a memory file, put where the caller of weirctl wants it, with the caller's
// rights.
#pragma once

#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <filesystem>

namespace weir::cli {

// An empty memory file for an answer.
[[nodiscard]] Result<OwnedFd> answer_file();

// A file appears whole or not at all: it is written beside its place, synced and renamed. A pipe or a device
// is written to.
[[nodiscard]] Status put_in_place(const OwnedFd &answer, const std::filesystem::path &file);

} // namespace weir::cli
