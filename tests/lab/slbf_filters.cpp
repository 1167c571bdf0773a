#include "tests/lab/slbf_filters.hpp"

#include <algorithm>
#include <cmath>

namespace weir::lab {
namespace {

using build::ScoreGroup;
using filter::GroupAnswer;

constexpr std::array<ScoreGroup, 1> all_in_one{ScoreGroup{1, 1}};

struct Sides {
  double told = 1, other = 1; // shares below the cut
};
Sides below(const ScoredStream &stream, float cut) {
  const std::array thresholds{cut};
  const auto groups = build::estimate_groups(thresholds, stream.sample_told, stream.sample_others);
  return {groups[0].told, groups[0].other};
}

// Best of 200 cuts by `value`, which is nothing where a cut will not do; the last one sends all keys to the filter.
template <class Value> OneCut best_cut(const ScoredStream &stream, double rate, Value value) {
  OneCut best{.value = 1e300};
  for (int i = 1; i <= 200; ++i) {
    OneCut cut{.threshold = static_cast<float>(i) / 200};
    const Sides side = below(stream, cut.threshold);
    cut.rate = (rate - (1 - side.other)) / side.other;
    cut.told = side.told;
    if (!(cut.rate > 0) || !(cut.told > 0)) continue;
    cut.value = value(cut);
    if (cut.value < best.value) best = cut;
  }
  return best;
}

template <class F> using Groups = std::vector<typename filter::ScoreGroups<F>::Group>;

Result<filter::StableGroups> stable_groups(std::vector<float> thresholds,
                                           std::span<const build::GroupSetting> settings, double gap,
                                           std::uint64_t seed) {
  Groups<filter::StableBloom> groups;
  for (std::size_t j = 0; j < settings.size(); ++j) {
    if (settings[j].rate >= 1 || settings[j].bits_a_gap <= 0) {
      groups.push_back({std::nullopt, settings[j].rate >= 1 ? GroupAnswer::accept : GroupAnswer::reject});
      continue;
    }
    const auto shape = build::stable_shape(settings[j].law, settings[j].bits_a_gap * gap);
    groups.push_back({TRY(filter::StableBloom::make(shape, j, seed + j)), GroupAnswer::reject});
  }
  return filter::StableGroups::make(std::move(thresholds), std::move(groups));
}

Result<filter::LearnedBloom> bloom_groups(std::vector<float> thresholds, const filter::BloomShape &shape) {
  Groups<filter::Bloom> groups;
  groups.push_back({TRY(filter::Bloom::make(shape)), GroupAnswer::reject});
  while (groups.size() <= thresholds.size()) groups.push_back({std::nullopt, GroupAnswer::accept});
  return filter::LearnedBloom::make(std::move(thresholds), std::move(groups));
}

Result<filter::RotatingGroups> rotating_groups(std::vector<float> thresholds, const RotatingPlan &plan) {
  Groups<filter::RotatingBloom> groups;
  for (std::size_t j = 0; j < plan.groups.size(); ++j)
    if (const auto &[rate, shape] = plan.groups[j]; shape.words == 0)
      groups.push_back({std::nullopt, rate >= 1 ? GroupAnswer::accept : GroupAnswer::reject});
    else
      groups.push_back({TRY(filter::RotatingBloom::make(shape, j)), GroupAnswer::reject});
  return filter::RotatingGroups(
      TRY(filter::ScoreGroups<filter::RotatingBloom>::make(std::move(thresholds), std::move(groups))),
      plan.turn);
}

// As much as fits: a lower rate where the whole gap fits, else turns shorter than the gap.
RotatingPlan rotating_in(std::span<const ScoreGroup> groups, double rate, double gap, double bits) {
  const auto fits = [&](double r, double turn) {
    return static_cast<double>(rotating_for(groups, r, turn).bits()) <= bits;
  };
  const bool whole = fits(rate, gap);
  double good = whole ? rate : 1, bad = whole ? 1e-9 : gap;
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(good * bad);
    (whole ? fits(middle, gap) : fits(rate, middle)) ? good = middle : bad = middle;
  }
  return whole ? rotating_for(groups, good, gap) : rotating_for(groups, rate, good);
}

// The mean over a turn; what is forgotten before the gap is over.
Errors predict(const RotatingPlan &plan, std::span<const ScoreGroup> groups, double gap) {
  Errors out;
  const auto turn = static_cast<double>(plan.turn);
  for (std::size_t j = 0; j < groups.size(); ++j) {
    const auto &[rate, shape] = plan.groups[j];
    if (shape.words == 0) {
      (rate >= 1 ? out.fpr : out.fnr) += rate >= 1 ? groups[j].other : groups[j].told;
      continue;
    }
    out.fpr += groups[j].other * build::rotating_mean_rate(shape, groups[j].told * turn);
    out.fnr += groups[j].told * (1 - std::clamp((2 * turn - gap) / turn, 0.0, 1.0));
  }
  return out;
}

// The settled rate and misses of what was really made: whole words, P at most the cells.
Errors predict(const filter::StableGroups &filter, std::span<const ScoreGroup> groups, double gap) {
  Errors out;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    const auto &group = filter.groups()[j];
    if (!group.filter) {
      if (group.answer == GroupAnswer::accept)
        out.fpr += groups[j].other;
      else
        out.fnr += groups[j].told;
      continue;
    }
    const auto &shape = group.filter->shape();
    const build::StableLaw law{shape.hashes, shape.max, shape.decrements};
    out.fpr += groups[j].other * build::stable_rate(law);
    out.fnr +=
        groups[j].told * build::stable_missed(law, static_cast<double>(shape.cells()), gap * groups[j].told);
  }
  return out;
}

std::vector<ScoreGroup> two_groups(const ScoredStream &stream, float threshold) {
  const std::array thresholds{threshold};
  return build::estimate_groups(thresholds, stream.sample_told, stream.sample_others);
}

// What a Bloom filter lets through at the end of the stream, behind the best cut or the one asked for.
Result<StreamContender> learned_bloom(const SlbfTask &task, const ScoredStream &stream, double bits) {
  const auto told = static_cast<double>(stream.told.keys.size());
  std::optional<filter::BloomShape> shape;
  StreamContender best{.name = "lbf",
                       .filter = TRY(bloom_groups({}, {.size = 1})),
                       .learned = true,
                       .fills_up = true,
                       .predicted = {2, 0}};
  float threshold = 1;
  for (int i = 1; i <= (task.cut ? 1 : 200); ++i) {
    const float cut = task.cut.value_or(static_cast<float>(i) / 200);
    const Sides side = below(stream, cut);
    const double planned = task.planned != 0 ? static_cast<double>(task.planned) : side.told * told;
    const auto next = filter::Bloom::shape_for(std::max(planned, 1.0), static_cast<std::uint64_t>(bits));
    if (!next) continue;
    const double fpr = 1 - side.other + side.other * filter::Bloom::rate(*next, side.told * told);
    if (fpr < best.predicted.fpr) best.predicted.fpr = fpr, shape = next, threshold = cut;
  }
  if (!shape) return fail(Errc::usage, "so few bits hold no learned Bloom filter");
  best.filter = TRY(bloom_groups({threshold}, *shape));
  return best;
}

} // namespace

std::uint64_t RotatingPlan::bits() const {
  std::uint64_t sum = 0;
  for (const auto &group : groups) sum += group.shape.bits();
  return sum;
}

RotatingPlan rotating_for(std::span<const ScoreGroup> groups, double rate, double turn) {
  return {.turn = static_cast<std::uint64_t>(std::max(turn, 1.0)),
          .groups = build::rotating_groups(groups, rate, turn)};
}

OneCut best_cut_for_bits(const ScoredStream &stream, double rate, double bits_a_gap) {
  return best_cut(stream, rate, [&](const OneCut &cut) {
    const double bits = bits_a_gap / cut.told;
    return cut.told * build::stable_missed_at(build::best_stable_law(cut.rate, bits), bits);
  });
}
OneCut best_cut_for_missed(const ScoredStream &stream, double rate, double missed) {
  return best_cut(stream, rate, [&](const OneCut &cut) {
    return cut.told * build::least_stable_bits(cut.rate, std::min(missed / cut.told, 0.999));
  });
}

std::vector<float> thresholds_of(const SlbfTask &task, const ScoredStream &stream) {
  return build::uniform_thresholds(
      task.groups != 0 ? task.groups : build::auto_groups(stream.sample_told, stream.sample_others));
}

SlbfLeast least_bits(const SlbfTask &task, const ScoredStream &stream) {
  SlbfLeast least;
  const auto estimate = [&](unsigned count) {
    return build::estimate_groups(build::uniform_thresholds(count), stream.sample_told, stream.sample_others);
  };
  const auto gap = static_cast<double>(task.gap);
  const auto groups = estimate(static_cast<unsigned>(thresholds_of(task, stream).size()) + 1);
  least.auto_groups = build::auto_groups(stream.sample_told, stream.sample_others);
  least.stable = build::least_stable_bits(task.rate, task.missed);
  least.s_slbf = best_cut_for_missed(stream, task.rate, task.missed).value;
  least.g_slbf = build::groups_bits(build::best_groups_for(groups, task.rate, task.missed));
  least.g_slbf_auto =
      build::groups_bits(build::best_groups_for(estimate(least.auto_groups), task.rate, task.missed));
  least.rotating = static_cast<double>(rotating_for(all_in_one, task.rate, gap).bits()) / gap;
  least.rotating_learned = static_cast<double>(rotating_for(groups, task.rate, gap).bits()) / gap;
  return least;
}

Result<std::vector<StreamContender>> make_contenders(const SlbfTask &task, const ScoredStream &stream,
                                                     const SlbfLeast &least) {
  const auto gap = static_cast<double>(task.gap), told = static_cast<double>(stream.told.keys.size());
  const auto given = static_cast<double>(task.bits), model = static_cast<double>(task.model_bits);
  const auto bits = [&](double own, double of_model) {
    return task.bits != 0 ? given - of_model : own * gap;
  };
  const std::uint64_t seed = task.stream.seed;
  std::vector<StreamContender> out;

  const auto bloom = filter::Bloom::shape_for(task.planned != 0 ? static_cast<double>(task.planned) : told,
                                              static_cast<std::uint64_t>(bits(least.stable, 0)));
  if (!bloom) return fail(Errc::usage, "so few bits hold no Bloom filter");
  out.push_back({.name = "bf",
                 .filter = TRY(bloom_groups({}, *bloom)),
                 .fills_up = true,
                 .predicted = {filter::Bloom::rate(*bloom, told), 0}});
  out.push_back(TRY(learned_bloom(task, stream, bits(least.stable, model))));

  const auto add_stable = [&](const char *name, std::vector<float> thresholds,
                              std::span<const build::GroupSetting> settings,
                              std::span<const ScoreGroup> groups) -> Status {
    auto filter = TRY(stable_groups(std::move(thresholds), settings, gap, seed));
    const Errors predicted = predict(filter, groups, gap);
    out.push_back(
        {.name = name, .filter = std::move(filter), .learned = groups.size() > 1, .predicted = predicted});
    return {};
  };
  const double stable_bits = bits(least.stable, 0) / gap;
  const std::array stable{
      build::GroupSetting{task.rate, build::best_stable_law(task.rate, stable_bits), stable_bits}};
  TRY(add_stable("sbf", {}, stable, all_in_one));

  const double cut_bits = bits(least.s_slbf, model) / gap;
  const OneCut cut = best_cut_for_bits(stream, task.rate, cut_bits);
  const std::array halves{
      build::GroupSetting{cut.rate, build::best_stable_law(cut.rate, cut_bits / cut.told), cut_bits},
      build::GroupSetting{}};
  TRY(add_stable("s-slbf", {cut.threshold}, halves, two_groups(stream, cut.threshold)));

  const auto thresholds = thresholds_of(task, stream);
  const auto groups = build::estimate_groups(thresholds, stream.sample_told, stream.sample_others);
  TRY(add_stable("g-slbf", thresholds,
                 build::set_groups(groups, task.rate, bits(least.g_slbf, model) / gap, task.setting),
                 groups));

  const auto add_rotating = [&](const char *name, std::vector<float> at, std::span<const ScoreGroup> behind,
                                double own, double of_model) -> Status {
    const auto plan = task.bits != 0 ? rotating_in(behind, task.rate, gap, bits(own, of_model))
                                     : rotating_for(behind, task.rate, gap);
    out.push_back({.name = name,
                   .filter = TRY(rotating_groups(std::move(at), plan)),
                   .learned = behind.size() > 1,
                   .predicted = predict(plan, behind, gap)});
    return {};
  };
  TRY(add_rotating("rotating", {}, all_in_one, least.rotating, 0));
  TRY(add_rotating("rotating_learned", thresholds, groups, least.rotating_learned, model));
  return out;
}

} // namespace weir::lab
