#include "tests/lab/learned_bloom.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace weir::lab {
namespace {

constexpr float never_scored = std::numeric_limits<float>::infinity();
constexpr std::uint64_t word = 64;

double share_reaching(std::span<const float> down, float threshold) {
  const auto reach =
      std::ranges::partition_point(down, [threshold](float m) { return m >= threshold; }) - down.begin();
  return down.empty() ? 0 : static_cast<double>(reach) / static_cast<double>(down.size());
}

// Thresholds that from a millionth to all of the others reach, and none.
template <class Visit> void for_each_threshold(const ScoredKeys &scored, Visit visit) {
  visit(never_scored);
  if (!scored.trees) return;
  for (const auto *down : {&scored.known_down, &scored.unknown_down})
    for (double exponent = -6; exponent < 0 && !down->empty(); exponent += 0.05) {
      const auto at = static_cast<std::size_t>(std::pow(10, exponent) * static_cast<double>(down->size()));
      visit(std::nextafter((*down)[at], never_scored));
    }
}

struct Left {
  double members, rate; // left to the backup; EFPR of the trees alone
};
Left left_by(const ScoredKeys &scored, double psi, float threshold) {
  return {(1 - share_reaching(scored.members_down, threshold)) * static_cast<double>(scored.members.size()),
          psi * share_reaching(scored.known_down, threshold) +
              (1 - psi) * share_reaching(scored.unknown_down, threshold)};
}

} // namespace

ScoredKeys ScoredKeys::of(std::optional<learn::Trees> trees, const LearnableSet &set, std::size_t known) {
  ScoredKeys out;
  out.members.resize(set.members.count());
  std::vector<float> others(set.others.count());
  if (trees) {
    out.members = learn::margins_of(trees->view(), set.members.samples);
    others = learn::margins_of(trees->view(), set.others.samples);
  }
  const auto end_of_known = others.begin() + static_cast<std::ptrdiff_t>(known);
  out.known.assign(others.begin(), end_of_known);
  out.unknown.assign(end_of_known, others.end());
  const auto down = [](std::vector<float> margins) {
    std::ranges::sort(margins, std::greater{});
    return margins;
  };
  out.members_down = down(out.members);
  out.known_down = down(out.known);
  out.unknown_down = down(out.unknown);
  out.trees = std::move(trees);
  return out;
}

LearnedChoice best_for_bits(std::span<const ScoredKeys> scored, double psi, std::uint64_t bits) {
  LearnedChoice best;
  for (const ScoredKeys &s : scored)
    for_each_threshold(s, [&](float threshold) {
      if (s.model_bits() + word > bits) return;
      const Left left = left_by(s, psi, threshold);
      const auto shape = filter::Bloom::shape_for(left.members, bits - s.model_bits());
      if (!shape) return;
      const double efpr = left.rate + (1 - left.rate) * filter::Bloom::rate(*shape, left.members);
      if (best.scored == nullptr || efpr < best.efpr)
        best = {&s, threshold, static_cast<std::uint64_t>(left.members), bits, efpr};
    });
  return best;
}

std::optional<LearnedChoice> least_for_rate(std::span<const ScoredKeys> scored, double psi, double rate) {
  std::optional<LearnedChoice> best;
  for (const ScoredKeys &s : scored)
    for_each_threshold(s, [&](float threshold) {
      const Left left = left_by(s, psi, threshold);
      if (left.rate >= rate) return;
      const auto shape = filter::Bloom::shape_for_rate(left.members, (rate - left.rate) / (1 - left.rate));
      if (!shape) return;
      const std::uint64_t bits = s.model_bits() + shape->bits();
      if (!best || bits < best->bits)
        best = {&s, threshold, static_cast<std::uint64_t>(left.members), bits, rate};
    });
  return best;
}

Result<LearnedBloom> LearnedBloom::build(const LearnedChoice &choice, const LearnableSet &set) {
  const Sorted members = sort_by(set.members.keys, choice.scored->members, choice.threshold);
  const auto shape = filter::Bloom::shape_for(static_cast<double>(members.left.size()),
                                              choice.bits - choice.scored->model_bits());
  if (!shape) return fail(Errc::usage, "no Bloom filter is that small");
  auto backup = TRY(filter::Bloom::make(*shape, 1));
  for (const KeyHash key : members.left) backup.insert(key);
  return LearnedBloom(choice, std::move(backup));
}

filter::HitMask LearnedBloom::contains(std::span<const KeyHash> keys,
                                       std::span<const learn::FeatureRow> rows) const noexcept {
  filter::HitMask hits = 0;
  if (choice_.scored->trees) {
    learn::Margins margins;
    choice_.scored->trees->view().score(rows, margins);
    for (std::size_t i = 0; i < keys.size(); ++i)
      hits |= filter::HitMask{margins[i] >= choice_.threshold ? 1u : 0u} << i;
  }
  std::array<KeyHash, filter::batch_max> left;
  std::array<std::uint8_t, filter::batch_max> place;
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    left[count] = keys[i];
    place[count] = static_cast<std::uint8_t>(i);
    count += (hits >> i & 1) == 0 ? 1 : 0;
  }
  for (filter::HitMask found = backup_.contains_batch(std::span(left).first(count)); found != 0;
       found &= found - 1)
    hits |= filter::HitMask{1} << place[static_cast<std::size_t>(std::countr_zero(found))];
  return hits;
}

double LearnedBloom::share(std::span<const KeyHash> keys, std::span<const float> margins) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    count += margins[i] >= choice_.threshold || backup_.contains(keys[i]) ? 1 : 0;
  return keys.empty() ? 0 : static_cast<double>(count) / static_cast<double>(keys.size());
}

} // namespace weir::lab
