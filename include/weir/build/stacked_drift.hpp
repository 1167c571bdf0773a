// What additions do to what a stack knows [Stacked Alg. 3; Stacked-early §4.5]. Rates as in
// stacked_model.hpp.
#pragma once

#include "weir/build/stacked_model.hpp"

namespace weir::build {

// The share of known negatives that are accepted after positives have been added to odd layers whose even
// ones stay as they were [Stacked Alg. 3]. `now` has the odd layers' rates of today. What a layer accepted
// when the stack was built it accepts still, and the even layer below it holds; what it has come to accept
// since, a share of now - built, none below it knows: from there on it is a negative like any other.
[[nodiscard]] inline double known_rate_after(LayerRates built, LayerRates now) noexcept {
  double accepted = 0, known = 1; // known: passes, and the even layer below holds it
  for (std::size_t i = 0; i < built.size(); i += 2) {
    double stranger = 1; // of one that the even layer below i does not hold
    if (i + 1 < built.size()) {
      double reaching = built[i + 1];
      stranger = 1 - built[i + 1];
      for (std::size_t j = i + 2; j < built.size(); j += 2) {
        reaching *= now[j];
        if (j + 1 == built.size()) break;
        stranger += reaching * (1 - built[j + 1]);
        reaching *= built[j + 1];
      }
      stranger += reaching;
    }
    accepted += known * std::max(now[i] - built[i], 0.0) * stranger;
    known *= built[i];
  }
  return accepted + known;
}

} // namespace weir::build
