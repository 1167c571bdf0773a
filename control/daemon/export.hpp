// Entries of a list for people: the first of them, all of them in a file, the one behind a verdict.
#pragma once

#include "control/daemon/engine.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace weir::control {

// [{prefix, comment, added_at, expires_at}]: dynamic ones first, they are what changes.
[[nodiscard]] nlohmann::json first_entries(Engine &engine, const RuleList &list, std::size_t most);

// One prefix a line with its comment after '#': the plain format, which list replace reads back.
// On a background thread; the file is renamed into place. The number of entries.
[[nodiscard]] Result<std::uint64_t> export_list(const RuleList &list, const store::Store &store,
                                                const std::filesystem::path &file);

// Adds entry, comment, added_at and expires_at of the list's longest prefix that covers the address.
void add_entry(nlohmann::json &answer, Engine &engine, const RuleList &list, const Address &address);

} // namespace weir::control
