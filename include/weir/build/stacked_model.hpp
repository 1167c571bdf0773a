// What a stacked filter will do, from the rates of its layers: errors, sizes, work, and what it bears of
// change [Stacked §4, §6; Stacked-early §4].
//
// rates[0] is layer 1: positives; rates[1] layer 2: known negatives; and so on. Where their number is even a key that
// the last layer accepts is absent, so that no known negative passes.
// Every formula counts layers as independent, which they are when each has hash functions of its own.
//
//   P    positives                      psi   share of negative questions that ask for known negatives
//   N_k  known negatives                EFPR  share of negative questions answered wrongly
//                                       EFPB  the same for a negative that nobody knew of
//
// Where the print is wrong these are the corrected forms: sums over known negatives begin with the first
// odd layer, and a negative is in layer 2i because layers 1, 3 ... 2i - 1 accepted it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::build {

using LayerRates = std::span<const double>;

// What layers are made of. Numbers are those of the laboratory's options.
enum class StackBase : std::uint8_t { bloom, cuckoo, quotient, fuse, split_block };

// ---- errors [Stacked §4.1] -----------------------------------------------------------------------

// A known negative passes all odd layers, and no even one after the last of them.
[[nodiscard]] inline double known_rate(LayerRates rates) noexcept {
  double all = rates.size() % 2 == 0 ? 0 : 1;
  for (std::size_t i = 0; i < rates.size(); i += 2) all *= rates[i];
  return all;
}
// Any other negative: rejected by an even layer, or by none. This is the EFPB [Stacked §4.4].
[[nodiscard]] inline double unknown_rate(LayerRates rates) noexcept {
  double reaching = 1, accepted = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (i % 2 == 1) accepted += reaching * (1 - rates[i]);
    reaching *= rates[i];
  }
  return rates.size() % 2 == 0 ? accepted : accepted + reaching;
}
[[nodiscard]] inline double stacked_efpr(LayerRates rates, double psi) noexcept { // [Stacked eq. 1]
  return psi * known_rate(rates) + (1 - psi) * unknown_rate(rates);
}
// With one rate for T layers.
[[nodiscard]] inline double equal_efpr(double rate, unsigned layers, double psi) noexcept {
  return psi * std::pow(rate, (layers + 1) / 2) +
         (1 - psi) * (rate + std::pow(rate, layers + 1)) / (1 + rate);
}

// ---- sizes [Stacked §4.2] ------------------------------------------------------------------------

// Keys expected in layer `index` (0 is layer 1).
[[nodiscard]] inline double keys_in_layer(LayerRates rates, std::size_t index, double positives,
                                          double known) noexcept {
  double keys = index % 2 == 0 ? positives : known;
  for (std::size_t i = (index + 1) % 2; i < index; i += 2) keys *= rates[i];
  return keys;
}

// How full tables in a stack are made. A little fuller than a filter that stands alone: half of the layers
// never change, and what layer 1 saves is worth most below it.
// Of short remainders many are equal, and equal ones of value 0 take a slot more than they are keys.
[[nodiscard]] constexpr double quotient_load(unsigned remainder_bits) noexcept {
  constexpr std::array<double, 5> of{0.86, 0.92, 0.945, 0.955, 0.96};
  return of[std::clamp<std::size_t>(remainder_bits, 1, of.size()) - 1];
}
[[nodiscard]] constexpr double cuckoo_load(unsigned fingerprint_bits) noexcept {
  constexpr std::array<double, 9> of{0.07, 0.18, 0.5, 0.75, 0.85, 0.9, 0.93, 0.95, 0.96};
  return of[std::clamp<std::size_t>(fingerprint_bits, 1, of.size()) - 1];
}

// A layer as planned.
struct LayerSize {
  double rate = 1;     // asked for
  double expected = 1; // rate of the memory that it gets
  double keys = 0;     // expected
  double bits = 0;     // for so many keys
  unsigned digits = 0; // of a fingerprint or remainder; 0: the base takes any number of bits
};

// ---- work [Stacked §4.3; Stacked-early §4.1] -----------------------------------------------------

// Operations on single layers.
struct StackWork {
  double inserts = 0, lookups = 0;
};

// Expected for building: of one positive, of one known negative.
[[nodiscard]] inline StackWork positive_build_work(LayerRates rates) noexcept {
  StackWork work;
  double reaching = 1;
  for (std::size_t i = 0; i < rates.size(); i += 2) {
    work.inserts += reaching;
    if (i + 1 == rates.size()) break;
    work.lookups += reaching;
    reaching *= rates[i + 1];
  }
  return work;
}
[[nodiscard]] inline StackWork known_build_work(LayerRates rates) noexcept {
  StackWork work;
  double reaching = 1;
  for (std::size_t i = 0; i < rates.size(); i += 2) {
    work.lookups += reaching; // of the last layer too, to learn who is left [Stacked §4.3]
    if (i + 1 == rates.size()) break;
    reaching *= rates[i];
    work.inserts += reaching;
  }
  return work;
}
[[nodiscard]] inline StackWork build_work(LayerRates rates, double positives, double known) noexcept {
  const StackWork p = positive_build_work(rates), n = known_build_work(rates);
  return {positives * p.inserts + known * n.inserts, positives * p.lookups + known * n.lookups};
}

// Layers that a question is expected to reach.
[[nodiscard]] inline double positive_probes(LayerRates rates) noexcept {
  double probes = 0, reaching = 1;
  for (std::size_t i = 0; i < rates.size(); i += 2) {
    const bool last = i + 1 == rates.size();
    probes += last ? reaching : 2 * reaching;
    if (!last) reaching *= rates[i + 1];
  }
  return probes;
}
[[nodiscard]] inline double known_probes(LayerRates rates) noexcept {
  double probes = 1, reaching = 1;
  for (std::size_t i = 0; i + 1 < rates.size(); i += 2) {
    reaching *= rates[i];
    probes += 2 * reaching;
  }
  return probes;
}
[[nodiscard]] inline double unknown_probes(LayerRates rates) noexcept {
  double probes = 0, reaching = 1;
  for (const double rate : rates) {
    probes += reaching;
    reaching *= rate;
  }
  return probes;
}

// Upper bounds for any number of layers of one rate.
[[nodiscard]] inline double positive_probes_bound(double rate) noexcept { return 2 / (1 - rate); }
[[nodiscard]] inline double known_probes_bound(double rate) noexcept { return (1 + rate) / (1 - rate); }
[[nodiscard]] inline double unknown_probes_bound(double rate) noexcept { return 1 / (1 - rate); }
[[nodiscard]] inline StackWork build_work_bound(double rate, double positives, double known) noexcept {
  const double p = positives / (1 - rate), n = known * rate / (1 - rate);
  return {p + n, p + known + n};
}

// ---- change [Stacked §4.4; Stacked-early §4.5] ---------------------------------------------------

// The EFPR changes in proportion to psi.
[[nodiscard]] inline double efpr_shift(LayerRates rates, double psi_before, double psi_after) noexcept {
  return (psi_after - psi_before) * (known_rate(rates) - unknown_rate(rates));
}
// At most so much when the distributions of negative questions are `variation` apart.
[[nodiscard]] inline double drift_bound(LayerRates rates, double variation) noexcept {
  return variation * std::abs(known_rate(rates) - unknown_rate(rates));
}
// Half the sum of differences; both of one length, each with sum 1.
[[nodiscard]] inline double total_variation(std::span<const double> p, std::span<const double> q) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i] - q[i]);
  return sum / 2;
}
// In nats; infinite where p has what q has not.
[[nodiscard]] inline double divergence(std::span<const double> p, std::span<const double> q) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) sum += p[i] * std::log(p[i] / q[i]);
  return sum;
}
// Pinsker: total variation is at most the root of half the divergence.
[[nodiscard]] inline double variation_from_divergence(double nats) noexcept {
  return std::min(1.0, std::sqrt(std::max(nats, 0.0) / 2));
}

// ---- when to stack [Stacked §6] ------------------------------------------------------------------

// Bits a key of a filter with rate a: (ln(1/a) + f) / c.
struct SizeLaw {
  double c = 1, f = 0;

  [[nodiscard]] double bits(double rate) const noexcept { return (-std::log(rate) + f) / c; }
};
inline constexpr double ln2 = 0.69314718055994530942;
inline constexpr SizeLaw bloom_law{ln2 * ln2, 0};
inline constexpr SizeLaw split_block_law{0.507, 0.74};    // within 4 % from one in five to one in 200
inline constexpr SizeLaw cuckoo_law{0.95 * ln2, 3 * ln2}; // four slots, 95 % load
inline constexpr SizeLaw quotient_law{0.95 * ln2, 2.125 * ln2};

// Theorem 6.1: a stack is smaller than one filter of this rate if the known negatives, with `k` of the
// negative questions or more, are at most so many a positive.
[[nodiscard]] inline double known_per_positive_max(const SizeLaw &law, double rate, double k) noexcept {
  if (k <= 0 || k >= 1 - rate) return -1;
  const double b = std::log(1 / (1 - k)) / (std::log((1 - k) / rate) + law.f);
  return b * (1 - k - rate) / rate - 1;
}
// Whether some k up to psi says so. The bound is highest somewhere inside, so every k is tried.
[[nodiscard]] inline bool stack_is_smaller(const SizeLaw &law, double rate, double psi,
                                           double known_per_positive) noexcept {
  constexpr unsigned steps = 2000;
  const double last = std::min(psi, 1 - rate);
  for (unsigned i = 1; i <= steps; ++i)
    if (known_per_positive <= known_per_positive_max(law, rate, last * i / steps)) return true;
  return false;
}

// Bits a positive of layers of one rate, as deep as one likes [Stacked eq. 2].
[[nodiscard]] inline double equal_size_bound(const SizeLaw &law, double rate,
                                             double known_per_positive) noexcept {
  return law.bits(rate) * (1 / (1 - rate) + known_per_positive * rate / (1 - rate));
}
struct SizeGain {
  double bits_single = 0, bits_stacked = 0; // a positive; stacked is never more
  double rate = 0;                          // of each layer; of the one filter where that is smaller

  [[nodiscard]] double saved() const noexcept { return bits_single - bits_stacked; }
};
// Bits saved at equal EFPR: the least of eq. 2 over layer rates up to rate / (1 - psi). It falls and then
// rises, so thirds are cut off.
[[nodiscard]] inline SizeGain size_gain(const SizeLaw &law, double rate, double psi,
                                        double known_per_positive) noexcept {
  const double most = std::min(psi < 1 ? rate / (1 - psi) : 1.0, 0.999);
  double low = std::log(1e-9), high = std::log(most);
  const auto size = [&](double log) { return equal_size_bound(law, std::exp(log), known_per_positive); };
  for (unsigned step = 0; step < 200; ++step) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (size(a) < size(b) ? high : low) = size(a) < size(b) ? b : a;
  }
  SizeGain gain{law.bits(rate), size(high), std::exp(high)};
  if (gain.bits_stacked >= gain.bits_single) gain.bits_stacked = gain.bits_single, gain.rate = rate;
  return gain;
}

} // namespace weir::build
