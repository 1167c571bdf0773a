#include "control/engine/kept.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::control {

Result<store::GenerationRecord> kept_generation(const store::Store &store, Generation id) {
  auto kept = TRY(store.generations());
  const auto wanted = std::ranges::find(kept, id, &store::GenerationRecord::id);
  if (wanted == kept.end())
    return fail(Errc::not_found,
                fmt::format("generation {} is not kept; `weirctl generations` shows those that are", id));
  return std::move(*wanted);
}

Result<store::GenerationRecord> generation_before(const store::Store &store, Generation id) {
  auto kept = TRY(store.generations());
  const auto at = std::ranges::find(kept, id, &store::GenerationRecord::id);
  if (at == kept.begin() || at == kept.end())
    return fail(Errc::not_found, "there is no earlier generation to go back to");
  return std::move(*std::prev(at));
}

} // namespace weir::control
