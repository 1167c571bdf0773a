// Holds the filter in front of the allow tables against its plan: one that errs clearly more often than
// predicted (rate_check.hpp) is built anew. That helps whatever the cause: another seed draws other errors,
// and a filter that guards some keys guards those that have become hot.
#pragma once

#include "control/plan/promise.hpp"
#include "control/watch/reason.hpp"
#include "weir/wire/counters.hpp"

namespace weir::watch {

class AllowFilterWatch {
public:
  static constexpr auto first_wait = std::chrono::minutes(1);

  // A generation has come into force.
  void begin(const plan::AllowPromise &promise) { promise_ = promise; }
  // `did`: what the dataplane counted under this generation.
  [[nodiscard]] std::optional<Reason> look(const wire::CounterValues &did) const;
  // May it be told of denied addresses as they become hot?
  [[nodiscard]] bool learns() const noexcept { return promise_.learns; }

private:
  plan::AllowPromise promise_;
};

} // namespace weir::watch
