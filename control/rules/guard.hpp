// What may not happen by accident: a reload that changes most of a list, a rule set without rules.
// Every refusal says how to force it. never_deny is in normalise.hpp, since it is a list.
#pragma once

#include "control/config/config.hpp"
#include "control/rules/normalise.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

// The difference between two contents of one list.
struct ListChange {
  std::uint64_t before = 0, after = 0; // entries
  std::uint64_t added = 0, removed = 0;
  std::vector<std::string> added_examples, removed_examples; // the first few

  [[nodiscard]] double share() const noexcept { // of the list as it was; above 1 when much is added
    return before == 0 ? 0 : static_cast<double>(added + removed) / static_cast<double>(before);
  }
};
inline constexpr std::size_t change_examples_max = 5;

[[nodiscard]] ListChange change_of(const ListSource &before, const ListSource &after);

inline constexpr std::uint64_t guarded_entries_min = 1000; // smaller lists may change freely

// guard.max_change: `change.before` is the last content; a first load is not asked. A file list
// that had entries and comes back empty is refused whatever max_change says.
[[nodiscard]] Status check_change(std::string_view list, const ListChange &change, const config::Guard &guard,
                                  bool force);

// Refuses a rule set without a single entry beside never_deny, unless the configuration has dynamic
// lists alone, which start empty by nature.
[[nodiscard]] Status check_not_empty(const config::Config &config, const Effective &rules, bool force);

} // namespace weir::rules
