// A weighted counting Bloom filter within a budget: how many negatives have their cost stored, and how
// many functions each class has.
//
// The optimum gives a key log2 of its cost more functions than another, where both are as likely to be
// inserted (Bruck, Gao, Jiang 2006, theorem 1): k_c = k + log2(mean cost of class c / mean cost of the
// rest). Classes are ranks, each 32 times as many as the one before; k and the number of stored costs are
// tried out against the model.
#pragma once

#include "weir/build/cell_wear.hpp"
#include "weir/filter/weighted_bloom.hpp"

#include <algorithm>
#include <span>

namespace weir::build {

struct WeightedNeeds {
  std::uint64_t keys = 0;
  std::uint64_t bits = 0;
  std::uint64_t known = 0;      // negatives, the dearest, whose costs may be stored
  std::span<const double> mass; // mass[i]: cost of the i dearest negatives; the last is the cost of all
};

struct WeightedSize {
  struct Class {
    std::uint64_t first = 0, end = 0; // ranks
    filter::CuckooFilter::Shape stored;
    unsigned hashes = 1;
    double rate = 1; // predicted
  };
  std::vector<Class> classes; // dearest first
  filter::CountingBloom::Shape cells;
  double weighted = 1, unknown = 1; // predicted share of the cost, and rate of everything else
};

// Classes for the `stored` dearest negatives, dearer ones with longer fingerprints: they are few, and a
// key that they take wrongly has many functions more.
[[nodiscard]] inline std::vector<WeightedSize::Class> cost_classes(std::uint64_t stored) {
  std::vector<WeightedSize::Class> classes;
  unsigned fingerprint_bits = 8;
  for (std::uint64_t end = stored; end > 0 && classes.size() < 3; end /= 32, fingerprint_bits += 4) {
    const auto keys = static_cast<double>(end - end / 32);
    // A small one needs room for bad luck: three standard deviations more.
    const double slots = keys / filter::CuckooFilter::load_max(fingerprint_bits) + 3 * std::sqrt(keys);
    const auto buckets = static_cast<std::uint32_t>(slots / filter::CuckooFilter::slots) + 2;
    classes.push_back({end / 32, end, {buckets, fingerprint_bits}});
  }
  classes.back().first = 0;
  std::ranges::reverse(classes);
  return classes;
}

// Rates of one choice, by the model.
inline void predict(const WeightedNeeds &needs, WeightedSize &size, const CellsInUse &in_use) {
  using filter::CountingBloom;
  const auto mean = [&](std::uint64_t first, std::uint64_t end) {
    return (needs.mass[end] - needs.mass[first]) /
           static_cast<double>(std::max<std::uint64_t>(end - first, 1));
  };
  const std::uint64_t stored = size.classes.empty() ? 0 : size.classes.back().end;
  const double rest = std::max(mean(stored, needs.mass.size() - 1), 1e-300);
  double counted = size.cells.hashes, taken = 0; // functions a key; share of keys with a class's functions
  for (WeightedSize::Class &c : size.classes) {
    const double more = std::log2(std::max(1.0, mean(c.first, c.end) / rest));
    c.hashes =
        std::min(CountingBloom::hashes_max, size.cells.hashes + static_cast<unsigned>(std::lround(more)));
    const double wrongly = (1 - taken) * filter::cuckoo_rate(c.stored, c.end - c.first);
    counted += wrongly * (c.hashes - size.cells.hashes);
    taken += wrongly;
  }
  const double mean_count =
      counted * static_cast<double>(needs.keys) / static_cast<double>(size.cells.cells());
  const double used = in_use(mean_count);
  const auto rate_of = [used](unsigned hashes) { return std::pow(used, hashes); };
  size.unknown = rate_of(size.cells.hashes);
  size.weighted = (needs.mass.back() - needs.mass[stored]) * size.unknown;
  for (WeightedSize::Class &c : size.classes) {
    c.rate = rate_of(c.hashes);
    size.weighted += (needs.mass[c.end] - needs.mass[c.first]) * c.rate;
  }
  size.weighted /= needs.mass.back();
}

// The best choice, which may be to store no costs. `in_use` says what its rates are to be least for.
[[nodiscard]] inline WeightedSize size_weighted_bloom(const WeightedNeeds &needs, unsigned cell_bits = 4,
                                                      const CellsInUse &in_use = in_use_as_built) {
  constexpr unsigned hashes_tried = 16; // of what is in no class
  WeightedSize best;
  best.cells = filter::CountingBloom::shape_for(needs.keys, needs.bits, cell_bits);
  predict(needs, best, in_use);
  for (std::uint64_t stored = needs.known; stored > 0; stored /= 2) {
    WeightedSize next;
    next.classes = cost_classes(stored);
    std::uint64_t bits = 0;
    for (const WeightedSize::Class &c : next.classes) bits += filter::CuckooFilter::bits_of(c.stored);
    if (bits + 64 > needs.bits) continue;
    next.cells = filter::CountingBloom::shape_for(needs.keys, needs.bits - bits, cell_bits);
    for (next.cells.hashes = 1; next.cells.hashes <= hashes_tried; ++next.cells.hashes) {
      predict(needs, next, in_use);
      if (next.weighted < best.weighted) best = next;
    }
  }
  return best;
}

// `negatives` are the dearest first. Errors: usage, when they are too few; needs_rebuild, when a class
// refuses a key.
[[nodiscard]] inline Result<filter::WeightedBloom> build_weighted_bloom(const WeightedSize &size,
                                                                        std::span<const KeyHash> negatives) {
  if (!size.classes.empty() && negatives.size() < size.classes.back().end)
    return fail(Errc::usage, "a weighted Bloom filter sized for " + std::to_string(size.classes.back().end) +
                                 " stored costs gets " + std::to_string(negatives.size()) + " negatives");
  std::vector<filter::WeightedBloom::CostClass> classes;
  for (const WeightedSize::Class &c : size.classes) {
    auto keys = TRY(filter::CuckooFilter::make(c.stored));
    for (const KeyHash key : negatives.subspan(c.first, c.end - c.first)) TRY(keys.insert(key));
    classes.push_back({std::move(keys), c.hashes});
  }
  return filter::WeightedBloom::make(size.cells, std::move(classes));
}

} // namespace weir::build
