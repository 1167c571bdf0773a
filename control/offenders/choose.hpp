// Which filter remembers offenders, and the section that says so to the dataplane.
#pragma once

#include "control/offenders/model.hpp"
#include "weir/build/offenders_builder.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::offenders {

struct Choice {
  build::OffenderPlan plan;
  bool learned = false; // groups of the model's scores; else one group for all
  std::string why;
  std::uint64_t model_bytes = 0; // trees and neighbours, where they are learned
  [[nodiscard]] std::uint64_t bits() const noexcept { return plan.cell_bits + 8 * model_bytes; }
};

// `model` null, or of another element: nothing has been learned yet. `auto` takes what is predicted to need the fewest bits at
// the wanted rates, the classifier's counted; `slbf` stable filters behind scores as soon as there are any. Errors:
// config, where the wanted rates take more memory than there may be.
[[nodiscard]] Result<Choice> choose(const config::Offenders &wanted, const Model *model);

// `seed` is the same in all images, or the memory would be cleared. Errors: those of build_offenders().
[[nodiscard]] Result<std::vector<std::byte>> section_of(const config::Offenders &wanted, const Choice &choice,
                                                        const Model *model,
                                                        std::span<const Prefix> never_deny,
                                                        std::uint64_t seed);

} // namespace weir::offenders
