// What a location predictor has to tell apart, and what that takes [Chained §5.3]: cuckoo hashing with one slot a bucket and
// `load` keys to a bucket of both tables together.
#pragma once

#include <cmath>
#include <numbers>

namespace weir::build {

// Keys in table 1 for each one in table 2 [Chained Theorem 5.2]. Keys go to table 1 first, so that it holds one key for
// each of its buckets that any key is mapped to: 1 - exp(-2 load) of them. Load 0 to 1/2, both left out.
[[nodiscard]] inline double cuckoo_lambda(double load) noexcept {
  return 1 / (2 * load / -std::expm1(-2 * load) - 1);
}
// Buckets read for a stored key without a predictor, table 1 first.
[[nodiscard]] inline double cuckoo_accesses(double load) noexcept {
  return 1 + 1 / (cuckoo_lambda(load) + 1);
}

// Bits of all Bloom layers for each key of table 2, with delta = 1/2: as Table 3 has them [Chained Theorem 4.3, remark], and
// the least by Alg. 2, before anything is rounded up.
[[nodiscard]] inline double predictor_bits(double lambda) noexcept {
  return std::numbers::log2e * std::log2(16 * lambda);
}
[[nodiscard]] inline double predictor_bits_least(double lambda) noexcept {
  return std::numbers::log2e * std::log2(8 * lambda);
}
// The share of them that layer `number`, counted from 0, has: log2(2 lambda), 1, 1/2, 1/4 ... of the sum.
[[nodiscard]] inline double predictor_layer_share(double lambda, unsigned number) noexcept {
  const double part = number == 0 ? std::log2(2 * lambda) : std::exp2(1.0 - number);
  return part / std::log2(8 * lambda);
}
// Keys that the layer holds for each key of table 2.
[[nodiscard]] inline double predictor_layer_keys(unsigned number) noexcept {
  return std::exp2(-static_cast<double>(number));
}

// EMOMA's counting block Bloom filter: two counters of four bits for each bucket of table 1, in bits a bucket of both.
inline constexpr double emoma_bits_per_bucket = 4;

} // namespace weir::build
