// What rules say of an address, asked of the lists themselves and not of an image: for rules that are not in
// force, and to name every list that holds an address and not only the one that decides.
#pragma once

#include "control/engine/rule_set.hpp"
#include "weir/key/verdict.hpp"

#include <cstddef>
#include <vector>

namespace weir::control {

struct Holder {           // an entry around the address
  std::size_t source = 0; // index in RuleSet::sources
  Prefix prefix;
  bool dynamic = false; // by `weirctl list add`; in the list's file, or the configuration, if not
  EntryTimes times;     // of a dynamic one
};

struct RuleVerdict {
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::fallthrough;
  // The one that decides first: allow before deny, the longer prefix before the shorter, the earlier list
  // before the later. Empty, or a deny list that goes on (on_match): policy.default decides.
  std::vector<Holder> holders;
};

// Entries that were added by hand around an address. Belongs to the loop, as DynamicEntries do.
struct DynamicHolder {
  ListId list{};
  Prefix prefix;
  EntryTimes times;
};
[[nodiscard]] std::vector<DynamicHolder> dynamic_holders(const DynamicEntries &dynamic,
                                                         const Address &address);

// Any thread. `dynamic` of lists that these rules do not have are left out. What no address decides (fragments,
// tunnels, frames that are no IP packets) is not looked at.
[[nodiscard]] RuleVerdict judge(const RuleSet &rules, const std::vector<DynamicHolder> &dynamic,
                                const Address &address);

} // namespace weir::control
