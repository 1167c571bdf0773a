#include "control/watch/allow_filter_watch.hpp"

#include "control/watch/rate_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::watch {

std::optional<Reason> AllowFilterWatch::look(const wire::CounterValues &did) const {
  using enum wire::CounterId;
  if (!promise_.predicts) return std::nullopt;
  const std::uint64_t right = did[allow_accepted] - std::min(did[allow_accepted], did[allow_false]);
  const std::uint64_t absent = did[allow_asked] - std::min(did[allow_asked], right);
  struct Rate {
    const char *whose;
    double predicted;
    MeasuredRate measured;
  };
  const Rate rates[] = {
      {"addresses that are not allowed",
       std::max(promise_.plain_churned, promise_.weighted_churned),
       {absent, did[allow_false]}},
      {"denied addresses", promise_.weighted_churned, {did[allow_denied_asked], did[allow_denied_false]}}};
  for (const Rate &rate : rates)
    if (is_beyond_band(rate.predicted, rate.measured))
      return Reason{
          ImageCause::allow_rate, first_wait,
          fmt::format("the filter of the allow lists accepted {:.3g} % of {} questions about {}, {:.3g} % "
                      "were predicted",
                      100 * rate.measured.rate(), rate.measured.asked, rate.whose, 100 * rate.predicted)};
  return std::nullopt;
}

} // namespace weir::watch
