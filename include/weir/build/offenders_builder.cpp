#include "weir/build/offenders_builder.hpp"

#include "weir/build/spared_ranges.hpp"
#include "weir/filter/rotating_bloom.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace weir::build {
namespace {

image::OffenderGroup group_of(std::span<const float> thresholds, std::size_t j, const ScoreGroup &shares) {
  image::OffenderGroup g{};
  g.below = j < thresholds.size() ? thresholds[j] : std::numeric_limits<float>::infinity();
  g.told = image::stack_rate_parts(std::clamp(shares.told, 0.0, 1.0));
  g.other = image::stack_rate_parts(std::clamp(shares.other, 0.0, 1.0));
  g.answer = image::OffenderAnswer::reject;
  return g;
}

Status check_groups(std::span<const float> thresholds, std::span<const ScoreGroup> groups,
                    const OffenderTargets &targets) {
  if (groups.empty() || groups.size() > image::offender_groups_max || thresholds.size() + 1 != groups.size())
    return fail(Errc::usage, "offenders: 1 to " + std::to_string(image::offender_groups_max) +
                                 " groups, and a threshold between any two");
  if (!(targets.accepted > 0 && targets.accepted < 1 && targets.missed > 0 && targets.missed < 1) ||
      targets.gap == 0)
    return fail(Errc::usage, "offenders: rates lie between 0 and 1, and something is to be remembered");
  return {};
}

// Groups of which all are rejected miss what is told.
Status check_missed(const OffenderPlan &plan, const OffenderTargets &targets) {
  if (plan.missed <= 1.1 * targets.missed) return {};
  return fail(
      Errc::usage,
      "offenders: no filter holds so low a rate of wrong accepts, and misses so few: allow more errors, "
      "or remember less");
}

Status check_bits(double bits) {
  if (bits / 8 <= static_cast<double>(image::offender_bytes_max)) return {};
  return fail(Errc::usage, "offenders: the memory would take " +
                               std::to_string(std::llround(bits / 8 / (1 << 20))) +
                               " MiB, at most 1024 are possible: remember less, or allow more errors");
}

// What few cells accept strays. Aims so low that five deviations more are still within a tenth above what is wanted.
std::vector<GroupSetting> settings_within(std::span<const ScoreGroup> groups,
                                          const OffenderTargets &targets) {
  constexpr double deviations = 5, above = 0.1;
  auto settings = best_groups_for(groups, targets.accepted, targets.missed);
  const double spread = deviations * groups_rate_spread(groups, settings, static_cast<double>(targets.gap));
  if (spread <= std::log1p(above)) return settings;
  return best_groups_for(groups, targets.accepted * (1 + above) * std::exp(-spread), targets.missed);
}

} // namespace

Result<OffenderPlan> plan_stable_offenders(std::span<const float> thresholds,
                                           std::span<const ScoreGroup> groups,
                                           const OffenderTargets &targets) {
  TRY(check_groups(thresholds, groups, targets));
  const auto gap = static_cast<double>(targets.gap);
  const auto settings = settings_within(groups, targets);
  TRY(check_bits(groups_bits(settings) * gap));
  OffenderPlan plan{.filter = OffenderFilter::stable, .groups = {}};
  for (std::size_t j = 0; j < groups.size(); ++j) {
    image::OffenderGroup g = group_of(thresholds, j, groups[j]);
    const GroupSetting &one = settings[j];
    if (one.rate >= 1) {
      g.answer = image::OffenderAnswer::accept;
      plan.accepted += groups[j].other;
    } else if (one.bits_a_gap <= 0) {
      plan.missed += groups[j].told;
    } else {
      const auto shape = stable_shape(one.law, std::ceil(one.bits_a_gap * gap / 64) * 64);
      const StableLaw law{shape.hashes, shape.max, shape.decrements};
      g.answer = image::OffenderAnswer::filter;
      g.words = shape.words;
      g.max = static_cast<std::uint8_t>(shape.max);
      g.hashes = static_cast<std::uint8_t>(shape.hashes);
      g.decrements = shape.decrements;
      plan.cell_bits += shape.bits();
      plan.accepted += groups[j].other * stable_rate(law);
      plan.missed +=
          groups[j].told * stable_missed(law, static_cast<double>(shape.cells()), gap * groups[j].told);
    }
    plan.groups.push_back(g);
  }
  TRY(check_missed(plan, targets));
  return plan;
}

Result<OffenderPlan> plan_rotating_offenders(std::span<const float> thresholds,
                                             std::span<const ScoreGroup> groups,
                                             const OffenderTargets &targets) {
  TRY(check_groups(thresholds, groups, targets));
  const auto turn = static_cast<double>(targets.gap);
  OffenderPlan plan{.filter = OffenderFilter::rotating, .turn = targets.gap, .groups = {}};
  const auto settings = rotating_groups(groups, targets.accepted, turn);
  for (std::size_t j = 0; j < groups.size(); ++j) {
    image::OffenderGroup g = group_of(thresholds, j, groups[j]);
    const auto &[rate, shape] = settings[j];
    if (rate >= 1) {
      g.answer = image::OffenderAnswer::accept;
      plan.accepted += groups[j].other;
    } else if (rate <= 0) {
      plan.missed += groups[j].told;
    } else {
      if (shape.words == 0) return std::unexpected(check_bits(std::numeric_limits<double>::max()).error());
      g.answer = image::OffenderAnswer::filter;
      g.words = shape.words;
      g.hashes = static_cast<std::uint8_t>(shape.hashes);
      plan.cell_bits += shape.bits();
      plan.accepted += groups[j].other * rotating_mean_rate(shape, groups[j].told * turn);
    }
    plan.groups.push_back(g);
  }
  TRY(check_bits(static_cast<double>(plan.cell_bits)));
  TRY(check_missed(plan, targets));
  return plan;
}

Result<std::vector<std::byte>> build_offenders(const OffendersInput &in) {
  if (in.neighbours.size() != (in.trees.empty() ? 0 : image::offender_neighbours))
    return fail(Errc::usage, "offenders: trees come with the neighbours that they were trained with");
  const detail::SparedRanges ranges = detail::spared_ranges(in.spared);
  image::OffendersHeader h{};
  h.magic = image::offenders_magic;
  h.element = static_cast<std::uint8_t>(in.element);
  h.action = static_cast<std::uint8_t>(in.action);
  h.filter = static_cast<std::uint8_t>(in.plan.filter);
  h.tells_denied = in.tells_denied ? 1 : 0;
  h.groups = static_cast<std::uint32_t>(in.plan.groups.size());
  h.gap = in.targets.gap;
  h.turn = in.plan.turn;
  h.seed = in.seed;
  h.model = in.model;
  h.tells_above = in.tells_above;
  h.limit = in.limit;
  h.burst = in.burst;
  h.spared_v4 = static_cast<std::uint32_t>(ranges.v4.size());
  h.spared_v6 = static_cast<std::uint32_t>(ranges.v6.size());
  h.neighbours = static_cast<std::uint32_t>(in.neighbours.size());
  h.trees_bytes = in.trees.size();
  h.wanted_accepted = image::stack_rate_parts(in.targets.accepted);
  h.wanted_missed = image::stack_rate_parts(in.targets.missed);
  h.predicted_accepted = image::stack_rate_parts(in.plan.accepted);
  h.predicted_missed = image::stack_rate_parts(in.plan.missed);

  std::vector<std::byte> out;
  const auto add = [&](Bytes part) { out.insert(out.end(), part.begin(), part.end()); };
  const auto pad = [&] { out.resize(round_up(out.size(), cache_line_bytes)); };
  add(std::as_bytes(std::span(&h, 1)));
  add(std::as_bytes(std::span(in.plan.groups)));
  pad();
  add(std::as_bytes(std::span(ranges.v4)));
  add(std::as_bytes(std::span(ranges.v6)));
  pad();
  add(in.neighbours);
  add(in.trees);
  return out;
}

} // namespace weir::build
