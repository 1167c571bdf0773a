// A request for entries of a dynamic list, read from its line without a tree of JSON values in between: a
// million entries come in one line, and the tree would take ten times what they do.
#pragma once

#include "control/engine/entry_request.hpp"
#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

// Longer lines are read on a background thread, by parse_entry_request() alone.
inline constexpr std::size_t long_line_bytes = 64 * 1024;

struct EntryRequest {
  std::string verb, list; // list_add or list_del
  std::vector<NewEntry> entries;
  bool force = false;  // even beyond shortest_prefix
  std::string by = {}; // who asks, for the audit log; not in the line
  push::Clock::time_point arrived = push::Clock::now();
};

// From any thread. Errors name the entry; a line that asks for anything else is one.
[[nodiscard]] Result<EntryRequest> parse_entry_request(std::string_view line);

} // namespace weir::control
