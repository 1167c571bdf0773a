// What the deny lists of an image do besides dropping, as workers ask it: by the list's number, with its rate limit.
#pragma once

#include "dataplane/image/rule_tables.hpp"
#include "weir/image/list_actions.hpp"

#include <memory>
#include <vector>

namespace weir::dataplane {

class ListActions {
public:
  struct Action {
    RuleAction action = RuleAction::drop;
    std::shared_ptr<RateLimit> limit = nullptr; // of rate_limit
  };

  // `name_of(list)`: under which name a limit goes on when the next image has the list with the same rate.
  template <class NameOf>
  ListActions(const image::ListActionsView &view, RateLimits &limits, NameOf name_of) {
    if (!view.empty()) actions_.resize(view.entries().back().list.value() + std::size_t{1});
    for (const image::ListActionEntry &entry : view.entries())
      actions_[entry.list.value()] = {entry.action, entry.action == RuleAction::rate_limit
                                                        ? limits.of_list(name_of(entry.list), entry)
                                                        : nullptr};
  }

  [[nodiscard]] const Action &of(ListId list) const noexcept {
    return list.value() < actions_.size() ? actions_[list.value()] : drops_;
  }

private:
  std::vector<Action> actions_; // by number
  Action drops_;
};

} // namespace weir::dataplane
