#include "control/plan/stacked_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::plan {
namespace {

// The least share with which the theorem holds; 1 when none does.
double least_share(const build::SizeLaw &law, double rate, double known_per_positive) {
  if (!build::stack_is_smaller(law, rate, 1, known_per_positive)) return 1;
  double low = 0, high = 1;
  for (unsigned step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2;
    (build::stack_is_smaller(law, rate, middle, known_per_positive) ? high : low) = middle;
  }
  return high;
}

std::string in_words(const StackAdvice &a, double positives, double rate) {
  const std::string who = fmt::format(
      "the {:.0f} most frequent absent keys ({:.2g} for each key of the list) have {:.3g} % of the "
      "negative questions",
      a.known, a.known / positives, 100 * a.psi);
  if (!a.stack && a.psi_needed >= 1)
    return fmt::format("do not stack at {:.3g} % errors: {}, and no share would be enough for so many",
                       100 * rate, who);
  const std::string needed = fmt::format("{:.3g} % would be enough", 100 * a.psi_needed);
  if (!a.stack) return fmt::format("do not stack at {:.3g} % errors: {}; {}", 100 * rate, who, needed);
  return fmt::format(
      "stack at {:.3g} % errors: {}, and {}. Layers of {:.3g} % take {:.2f} bits a key or fewer, "
      "one filter {:.2f}: at least {:.2f} saved",
      100 * rate, who, needed, 100 * a.gain.rate, a.gain.bits_stacked, a.gain.bits_single, a.gain.saved());
}

} // namespace

build::SizeLaw size_law(StackBase base) noexcept {
  switch (base) {
  case StackBase::bloom: return build::bloom_law;
  case StackBase::split_block: return build::split_block_law;
  case StackBase::cuckoo: return build::cuckoo_law;
  case StackBase::quotient: return build::quotient_law;
  case StackBase::fuse: break;
  }
  return {build::ln2 / 1.13, 0};
}

Result<StackAdvice> advise_stack(StackBase base, double positives, const CostCurve &negatives, double rate) {
  if (positives < 1 || negatives.negatives() == 0)
    return fail(Errc::usage, "advice on stacking needs keys, and negatives that are asked for");
  if (!(rate > 0 && rate < 1))
    return fail(Errc::usage, fmt::format("a rate lies between 0 and 1, not at {}", rate));
  const build::SizeLaw law = size_law(base);
  const auto most = static_cast<double>(negatives.negatives());
  StackAdvice best;
  double most_saved = -1;
  for (double known = 1; known < most * 1.3; known *= 1.3) {
    const double count = std::floor(std::min(known, most)), per_positive = count / positives;
    const double psi = negatives.share_of(count);
    const build::SizeGain gain = build::size_gain(law, rate, psi, per_positive);
    if (build::stack_is_smaller(law, rate, psi, per_positive)) best.stack = true;
    if (gain.saved() <= most_saved) continue;
    most_saved = gain.saved();
    best.known = count, best.psi = psi, best.gain = gain;
  }
  best.psi_needed = least_share(law, rate, best.known / positives);
  best.words = in_words(best, positives, rate);
  return best;
}

} // namespace weir::plan
