// Entries of a list for people: the first, or all of them in a file.
#pragma once

#include "control/engine/engine.hpp"

#include <nlohmann/json_fwd.hpp>

namespace weir::control {

// [{prefix, comment, added_at, expires_at}]: dynamic ones first, they are what changes.
[[nodiscard]] nlohmann::json first_entries(Engine &engine, const RuleList &list, std::size_t most);

// One prefix a line with its comment after '#': the plain format, which list replace reads back.
// On a background thread, into a memory file of who asks. The number of entries.
[[nodiscard]] Result<std::uint64_t> export_list(const RuleList &list, const store::Store &store,
                                                int memory_file);

// What export_list() may write to: an ordinary memory file, so that no other program, disk or peer can
// hold the writer up.
[[nodiscard]] Status check_export_target(int fd);

} // namespace weir::control
