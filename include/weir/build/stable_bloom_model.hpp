// How often a stable Bloom filter errs, and which one errs least [SLBF §2.3, §3.3, §4, appendix C].
//
// A cell of a stable Bloom filter of m cells loses one with P/m an insertion and is set to Max with K/m. Seen from the last time
// that it was set, it is zero after t insertions if it lost Max times before it was set again:
//
//   zero(t) = (P / (P + K))^Max  Pr(Poisson((P + K) t / m) >= Max)           t = infinity: eq. (6)
//
// This is the sum (21) of the paper in closed form, with continuous time for insertions; stable_zero_after_sum() is that sum as it
// stands there. A key whose K cells were set t insertions ago is missed with 1 - (1 - zero(t))^K, eq. (14). `gap` is t: insertions
// that this filter sees between telling and asking, so behind a classifier its group's share q_j of all of them. The paper's
// (15) and (16) put all of them in.
//
// Memory goes in as bits for each insertion of the gap: of filters with the same number all miss the same share.
#pragma once

#include "weir/filter/stable_bloom.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace weir::build {

// What a stable Bloom filter is, but for its size.
struct StableLaw {
  unsigned hashes = 1, max = 1; // K, Max
  double decrements = 0;        // P
};

// Pr(Poisson(mean) >= count), count small.
[[nodiscard]] inline double poisson_at_least(double mean, unsigned count) noexcept {
  double term = std::exp(-mean), below = 0;
  for (unsigned i = 0; i < count; ++i) {
    below += term;
    term *= mean / (i + 1);
  }
  if (mean > count) return 1 - below;
  double sum = 0; // what is left would be lost in 1 - below
  for (unsigned i = count; term > 1e-18 * sum; ++i) {
    sum += term;
    term *= mean / (i + 1);
  }
  return sum;
}

// Share of absent keys accepted once settled [SLBF eq. 6].
[[nodiscard]] inline double stable_rate(const StableLaw &law) noexcept {
  return std::pow(1 - std::pow(law.decrements / (law.decrements + law.hashes), law.max), law.hashes);
}

// How far the settled rate strays from stable_rate() while keys come, as a part of it: its standard deviation, were each of so
// many cells zero or not by itself. Real filters stray 0.6 to 0.9 of that: a key always sets K cells, and as many are worn down.
[[nodiscard]] inline double stable_rate_spread(const StableLaw &law, double cells) noexcept {
  const double zero = std::pow(law.decrements / (law.decrements + law.hashes), law.max);
  return zero < 1 && cells > 0 ? law.hashes * std::sqrt(zero / ((1 - zero) * cells)) : 0;
}

// P for a settled rate: (19) as it has to be, eq. (6) solved for P.
[[nodiscard]] inline double stable_decrements(double rate, unsigned hashes, unsigned max) noexcept {
  const double zero = 1 - std::pow(rate, 1.0 / hashes);
  return hashes / std::expm1(-std::log(zero) / max);
}
// As printed in (19): gives a lower rate than asked for, and misses more.
[[nodiscard]] inline double stable_decrements_printed(double rate, unsigned hashes, unsigned max) noexcept {
  return hashes / (1 - std::pow(1 - std::pow(rate, 1.0 / hashes), 1.0 / max));
}
[[nodiscard]] inline StableLaw stable_law(double rate, unsigned hashes, unsigned max) noexcept {
  return {hashes, max, stable_decrements(rate, hashes, max)};
}

// Share of zero cells `insertions` after the filter was empty: those never set, those set and worn down. Falls to the settled share.
[[nodiscard]] inline double stable_zeros(const StableLaw &law, double cells, double insertions) noexcept {
  const double set = law.hashes * insertions / cells, lost = law.decrements * insertions / cells;
  return std::exp(-set) * (1 - poisson_at_least(lost, law.max)) +
         std::pow(law.decrements / (law.decrements + law.hashes), law.max) *
             poisson_at_least(set + lost, law.max);
}
[[nodiscard]] inline double stable_rate_after(const StableLaw &law, double cells,
                                              double insertions) noexcept {
  return std::pow(1 - stable_zeros(law, cells, insertions), law.hashes);
}

// A cell set `gap` insertions ago is zero.
[[nodiscard]] inline double stable_zero_after(const StableLaw &law, double cells, double gap) noexcept {
  return std::pow(law.decrements / (law.decrements + law.hashes), law.max) *
         poisson_at_least((law.decrements + law.hashes) * gap / cells, law.max);
}
// The same by the sum of (21), with Pr(A_gap) where the print has Pr(A_n_j); gap^2 steps.
[[nodiscard]] inline double stable_zero_after_sum(const StableLaw &law, double cells, unsigned gap) noexcept {
  const double set = law.hashes / cells, lost = law.decrements / cells;
  const auto worn = [&](unsigned steps) { // Pr(Binomial(steps, lost) >= Max)
    if (steps < law.max) return 0.0;
    double term = std::pow(1 - lost, steps), below = 0;
    for (unsigned h = 0; h < law.max; ++h) {
      below += term;
      term *= lost / (1 - lost) * (steps - h) / (h + 1);
    }
    return std::max(0.0, 1 - below);
  };
  double sum = 0;
  for (unsigned l = law.max; l < gap; ++l) sum += worn(l) * set * std::pow(1 - set, l);
  return sum + worn(gap) * std::pow(1 - set, gap);
}

// Share of keys missed that were told `gap` insertions ago [SLBF eq. 14].
[[nodiscard]] inline double stable_missed(const StableLaw &law, double cells, double gap) noexcept {
  return 1 - std::pow(1 - stable_zero_after(law, cells, gap), law.hashes);
}

// Cells that a bit holds, words of 64 bits and what does not divide them included.
[[nodiscard]] inline double stable_cells_a_bit(unsigned max) noexcept {
  return static_cast<double>(64 / filter::StableBloomShape::cell_bits_for(max)) / 64;
}
[[nodiscard]] inline double stable_missed_at(const StableLaw &law, double bits_a_gap) noexcept {
  return stable_missed(law, bits_a_gap * stable_cells_a_bit(law.max), 1);
}

// What K and Max are searched in. The paper has K to 10 and Max 1, 3, 7.
inline constexpr unsigned stable_hashes_most = 10;
inline constexpr std::array<unsigned, 3> stable_maxima{1, 3, 7};

// The law of least misses for a rate within so many bits for each insertion of the gap.
[[nodiscard]] inline StableLaw best_stable_law(double rate, double bits_a_gap,
                                               std::span<const unsigned> maxima = stable_maxima) noexcept {
  StableLaw best;
  double least = 2;
  for (const unsigned max : maxima)
    for (unsigned hashes = 1; hashes <= stable_hashes_most; ++hashes) {
      const StableLaw law = stable_law(rate, hashes, max);
      const double missed = stable_missed_at(law, bits_a_gap);
      if (missed < least) least = missed, best = law;
    }
  return best;
}

// The fewest bits for each insertion of the gap with which at most `missed` are missed. 0: with none.
[[nodiscard]] inline double least_stable_bits(double rate, double missed) noexcept {
  const auto missed_with = [&](double bits) { return stable_missed_at(best_stable_law(rate, bits), bits); };
  double low = 1e-3, high = 1e5;
  if (missed_with(low) <= missed) return 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (missed_with(middle) > missed ? low : high) = middle;
  }
  return high;
}

// A filter of at most so many bits, one word at least, that follows the law as far as it can: P is no more than there are cells.
[[nodiscard]] inline filter::StableBloomShape stable_shape(const StableLaw &law, double bits) noexcept {
  filter::StableBloomShape shape{static_cast<std::uint32_t>(std::clamp(bits / 64, 1.0, 4294967295.0)),
                                 law.max, law.hashes, 0};
  shape.decrements = std::min(law.decrements, static_cast<double>(shape.cells()));
  return shape;
}

// ---- what the paper says of learned filters ----------------------------------------------------------

// Is a learned Bloom filter better than a plain one of the same size? [SLBF eq. 4]. `bits` a member behind the classifier, which takes
// `model_bits` a member; a Bloom filter of t bits a key errs with base^t (0.6185 for the best number of functions).
[[nodiscard]] inline bool learned_pays(double false_positive, double false_negative, double bits,
                                       double model_bits, double base = 0.6185) noexcept {
  const double backup = false_negative > 0 ? std::pow(base, bits / false_negative) : 0;
  return false_positive + (1 - false_positive) * backup < std::pow(base, model_bits + bits);
}

// Cells with which a filter that sees `share` of N insertions settles as fast as one of `cells` that sees all [SLBF eq. 8]: m' of
// K/m (1 - K/m)^N = K/m' (1 - K/m')^(N share), on the same side of the right hand's peak at m' = K (N share + 1) as m is.
[[nodiscard]] inline double equal_convergence_cells(double cells, unsigned hashes, double insertions,
                                                    double share) noexcept {
  const double k = hashes, n = insertions * share, peak = k * (n + 1);
  const auto speed = [k](double m, double told) { return std::log(k / m) + told * std::log1p(-k / m); };
  const double wanted = speed(cells, insertions);
  if (speed(peak, n) < wanted) return peak;
  const bool rising = cells <= peak;
  double low = rising ? k * (1 + 1e-9) : peak, high = rising ? peak : 1e18;
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    ((speed(middle, n) < wanted) == rising ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

} // namespace weir::build
