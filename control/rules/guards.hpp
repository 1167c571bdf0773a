// All guards over all lists of new rules, as far as they are about what the lists hold (guard.hpp).
#pragma once

#include "control/rules/bundle.hpp"
#include "control/rules/change_account.hpp"
#include "control/rules/guard.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace weir::rules {

// A list of the new rules beside what it takes the place of.
struct ListAtHand {
  const config::List *list = nullptr;
  std::filesystem::path file;            // that the content was read from; empty: the configuration
  Entries after, before;                 // without `named`; before: what is in force on the same side
  Covered covered_after, covered_before; // by them
  const ListChange *change = nullptr;    // null: nothing was in force under that name
  bool untouched = false;                // by this change: counts where all lists count together, no more
};

struct GuardsAsked {
  const Bundle *files = nullptr;        // where the lists were read from, to find lines again; null: the disk
  const ChangeAccount *spent = nullptr; // null: nothing
  std::uint64_t now_s = 0;              // by the clock of `spent`
  bool force = false;
};

// All objections come in one error, each with its lines below it; those that are no hindrance, since they are
// accepted or forced, as warnings.
[[nodiscard]] Result<std::vector<std::string>>
ask_guards(const config::Guard &guard, std::span<const ListAtHand> lists, const GuardsAsked &asked);

} // namespace weir::rules
