// How much the rates of whole filters of one shape differ: seeds choose other functions, and what a filter
// accepts is settled when its keys are in. A measured rate has this variance besides that of the questions.
//
//   Bloom, counting   the share of m cells that n k hits leave occupied has variance
//                     e^-c (1 - (1 + c) e^-c) / m, c = n k / m; the rate is its k-th power
//   quotient          the occupied share of slots 2^r fingerprints
//   cuckoo            the same of pairs of buckets with a fingerprint: a key accepts what shares its pair
//   split block       blocks err on their own; how much depends on the keys that chance gives each
//   xor, fuse,        none: cells that no key settles hold any value alike
//   chained
#pragma once

#include "weir/build/peeled_filter.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <algorithm>
#include <cmath>

namespace weir::test {

// Of the k-th power of the share of `cells` that `hits` leave occupied.
[[nodiscard]] inline double occupied_variance(double cells, double hits, double k = 1) noexcept {
  const double c = hits / cells, empty = std::exp(-c), share = 1 - empty;
  const double slope = k * std::pow(share, k - 1);
  return slope * slope * empty * (1 - (1 + c) * empty) / cells;
}

// Of the rate of one block of 32 bits a word, eight words, with a Poisson number of keys.
[[nodiscard]] inline double block_variance(double keys) noexcept {
  const auto eighth_power = [](double x) { return x * x * x * x * x * x * x * x; };
  double weight = std::exp(-keys), mean = 0, square = 0;
  for (double load = 0; load <= keys + 12 * std::sqrt(keys) + 30; ++load) {
    const double one_empty = std::pow(31.0 / 32, load), two_empty = std::pow(30.0 / 32, load);
    const double filled = 1 - one_empty,
                 filled_square = 1 - 2 * one_empty + one_empty / 32 + two_empty * 31 / 32;
    mean += weight * eighth_power(filled);
    square += weight * eighth_power(filled_square);
    weight *= keys / (load + 1);
  }
  return std::max(square - mean * mean, 0.0);
}

[[nodiscard]] inline double rate_variance(const filter::BloomShape &s, double keys) noexcept {
  return occupied_variance(static_cast<double>(s.bits()), keys * s.hashes, s.hashes);
}
[[nodiscard]] inline double rate_variance(const filter::CountingBloomShape &s, double keys) noexcept {
  return occupied_variance(static_cast<double>(s.cells()), keys * s.hashes, s.hashes);
}
[[nodiscard]] inline double rate_variance(const filter::QuotientShape &s, double keys) noexcept {
  return occupied_variance(static_cast<double>(s.universe()), keys);
}
[[nodiscard]] inline double rate_variance(const filter::CuckooShape &s, double keys) noexcept {
  return occupied_variance(s.buckets * std::max(std::exp2(s.fingerprint_bits) - 1, 1.0) / 2, keys);
}
[[nodiscard]] inline double rate_variance(const filter::SplitBlockShape &s, double keys) noexcept {
  return block_variance(keys / s.blocks) / s.blocks;
}
template <class StaticShape> [[nodiscard]] double rate_variance(const StaticShape &, double) noexcept {
  return 0;
}

} // namespace weir::test
