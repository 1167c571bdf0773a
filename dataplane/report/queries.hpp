// What the dataplane says about itself as JSON: answers to queries on the control socket, and the
// report of a replay. The only file that knows the JSON library.
#pragma once

#include "dataplane/gate/dataplane.hpp"
#include "dataplane/report/snapshot.hpp"
#include "weir/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::dataplane {

// {"what":"stats"}, {"what":"info"}, {"what":"explain","address":A}
[[nodiscard]] Result<std::string> answer_query(const Dataplane &dataplane, std::string_view query);

[[nodiscard]] std::string stats_json(const Snapshot &snapshot);

// Writes the report beside `file` and renames it there.
[[nodiscard]] Status write_report(const Dataplane &dataplane, const std::filesystem::path &file);

} // namespace weir::dataplane
