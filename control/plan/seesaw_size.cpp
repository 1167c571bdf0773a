#include "control/plan/seesaw_size.hpp"

#include <fmt/format.h>
#include <nlopt.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace weir::plan {
namespace {

constexpr std::uint64_t words_a_line = 8;
constexpr std::size_t refined_max = 12;
constexpr int evaluations = 120;
constexpr double gain_a_hash = 0.15, gain_more_backups = 0.1;

// Backups, and the index bits that number them.
struct Backups {
  unsigned count, index_bits;
};
constexpr std::array<Backups, 5> backups_tried{{{1, 0}, {2, 1}, {3, 2}, {4, 2}, {8, 3}}};

// The continuous part of a choice.
struct Split {
  double modulator_share, guarded_share;
};

struct SeesawCandidate {
  build::SeesawParams params;
  Split split{};
  double weighted = 1;

  // The rate, made dearer by the cache lines that answer for it.
  [[nodiscard]] double score() const {
    return weighted * std::pow(1 + gain_a_hash, params.hashes) *
           (params.backups > 1 ? 1 + gain_more_backups : 1);
  }
};

class Search {
public:
  explicit Search(const SeesawTask &task) : task_(task) {
    lines_ = (task.bits_total / 8 - sizeof(filter::SeesawHeader)) / (8 * words_a_line);
    const double most = static_cast<double>(task.costs.negatives());
    // Beyond two guarded negatives a key nearly every cell is sealed.
    guarded_max_ = std::min(most, 2.0 * static_cast<double>(task.keys));
  }

  [[nodiscard]] double guarded(const Split &split) const { return split.guarded_share * guarded_max_; }
  [[nodiscard]] double turnover() const { return task_.churn_rounds * task_.churn_share; }

  // Whole cache lines to either array.
  [[nodiscard]] build::SeesawParams sized(build::SeesawParams params, double modulator_share) const {
    const auto asked =
        static_cast<std::uint64_t>(std::llround(modulator_share * static_cast<double>(lines_)));
    const std::uint64_t lines = std::clamp<std::uint64_t>(asked, 1, lines_ - 1);
    params.modulator_words = lines * words_a_line;
    params.cell_words = (lines_ - lines) * words_a_line;
    if (params.family == HashFamily::jhash) {
      params.modulator_words = std::bit_ceil(params.modulator_words);
      params.cell_words = std::bit_ceil(params.cell_words);
    }
    return params;
  }

  // After `turnover`, with negatives known when the task says.
  [[nodiscard]] SeesawForecast forecast(const build::SeesawParams &params, double guarded,
                                        double turnover) const {
    const auto keys = static_cast<double>(task_.keys);
    return task_.late ? forecast_seesaw_late(params, keys, guarded, turnover)
                      : forecast_seesaw(params, keys, guarded, turnover);
  }
  [[nodiscard]] double weighted(const build::SeesawParams &params, const Split &split) const {
    const SeesawForecast f = forecast(sized(params, split.modulator_share), guarded(split), turnover());
    return f.weighted(task_.costs.share_of(guarded(split)));
  }

  // The best point of a coarse grid.
  [[nodiscard]] SeesawCandidate tried(const build::SeesawParams &params) const {
    SeesawCandidate best{params, {}, 2};
    for (const double modulator_share : {0.02, 0.05, 0.1, 0.18})
      for (const double guarded_share : {0.004, 0.02, 0.06, 0.15, 0.35, 0.8}) {
        const Split split{modulator_share, guarded_share};
        const double rate = weighted(params, split);
        if (rate < best.weighted) best.split = split, best.weighted = rate;
      }
    return best;
  }

  void refine(SeesawCandidate &candidate) const;
  [[nodiscard]] std::vector<SeesawCandidate> candidates() const;

private:
  const SeesawTask &task_;
  std::uint64_t lines_ = 0;
  double guarded_max_ = 0;
};

std::vector<SeesawCandidate> Search::candidates() const {
  std::vector<SeesawCandidate> all;
  build::SeesawParams p;
  p.planned_keys = task_.keys;
  p.family = task_.family;
  const bool one_kind = p.family == HashFamily::jhash; // the lean adaptive one
  p.adaptive = task_.adaptive || task_.late || one_kind;
  const unsigned hashes_max = one_kind ? std::min(task_.hashes_max, 6u) : task_.hashes_max;
  const std::span backups = std::span(backups_tried).first(one_kind ? 1 : backups_tried.size());
  for (p.hashes = 2; p.hashes <= hashes_max; ++p.hashes)
    for (p.positive_bits = 2; p.positive_bits <= (one_kind ? 2u : 4u); ++p.positive_bits)
      for (p.count_bits = 2; p.count_bits <= (one_kind ? 2u : 5u); ++p.count_bits)
        for (const Backups &b : backups) {
          p.backups = b.count;
          p.index_bits = b.index_bits;
          all.push_back(tried(p));
        }
  const std::size_t kept = std::min(refined_max, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), {},
                            &SeesawCandidate::score);
  all.resize(kept);
  return all;
}

struct Objective {
  const Search &search;
  const build::SeesawParams &params;
};

Split split_of(const std::vector<double> &logs) { return {std::exp(logs[0]), std::exp(logs[1])}; }

double log_rate(const std::vector<double> &logs, std::vector<double> &, void *data) {
  const auto &o = *static_cast<const Objective *>(data);
  return std::log(std::max(o.search.weighted(o.params, split_of(logs)), 1e-300));
}

void Search::refine(SeesawCandidate &candidate) const {
  Objective objective{*this, candidate.params};
  nlopt::opt solver(nlopt::LN_SBPLX, 2);
  solver.set_lower_bounds({std::log(0.002), std::log(0.0005)});
  solver.set_upper_bounds({std::log(0.5), 0.0});
  solver.set_min_objective(log_rate, &objective);
  solver.set_maxeval(evaluations);
  solver.set_ftol_abs(1e-4);
  std::vector<double> logs{std::log(candidate.split.modulator_share),
                           std::log(candidate.split.guarded_share)};
  double least = 0;
  try {
    solver.optimize(logs, least);
  } catch (const std::exception &) {
    return; // the grid's point stands
  }
  const double rate = weighted(candidate.params, split_of(logs));
  if (rate < candidate.weighted) candidate.split = split_of(logs), candidate.weighted = rate;
}

} // namespace

Result<SeesawPlan> size_seesaw(const SeesawTask &task) {
  constexpr std::uint64_t bits_min = 8 * (sizeof(filter::SeesawHeader) + 2 * 8 * words_a_line);
  if (task.keys == 0) return fail(Errc::usage, "seesaw filter: no keys to size it for");
  if (task.bits_total < bits_min)
    return fail(Errc::usage, fmt::format("seesaw filter: {} bits are less than the {} of the smallest one, "
                                         "raise the budget",
                                         task.bits_total, bits_min));
  const Search search(task);
  std::vector<SeesawCandidate> candidates = search.candidates();
  for (SeesawCandidate &candidate : candidates) search.refine(candidate);
  const SeesawCandidate &best = *std::ranges::min_element(candidates, {}, &SeesawCandidate::score);

  SeesawPlan plan;
  plan.params = search.sized(best.params, best.split.modulator_share);
  plan.modulator_share = static_cast<double>(plan.params.modulator_words) /
                         static_cast<double>(plan.params.modulator_words + plan.params.cell_words);
  plan.guarded = static_cast<std::uint64_t>(search.guarded(best.split));
  plan.guarded_cost = task.costs.share_of(static_cast<double>(plan.guarded));
  const auto guarded = static_cast<double>(plan.guarded);
  plan.fresh = search.forecast(plan.params, guarded, 0);
  plan.churned = search.forecast(plan.params, guarded, search.turnover());
  return plan;
}

const AllowFilterPlanner seesaw_planner{
    .name = "seesaw",
    .noun = "a Seesaw filter",
    .guarded_word = "guarded",
    .for_p4 = true,
    .size = [](const AllowFilterTask &task) -> Result<SizedAllowFilter> {
      const auto sized = TRY(size_seesaw({.keys = task.planned_keys,
                                          .bits_total = task.bits_total,
                                          .costs = task.costs,
                                          .adaptive = task.adaptive,
                                          .family = task.family}));
      const build::SeesawParams &p = sized.params;
      const unsigned cell_bits = p.negative_bits + p.positive_bits + (p.adaptive ? 1 : 0);
      return SizedAllowFilter{
          .params = p,
          .rates = {sized.weighted_fresh(), sized.fresh.others, sized.weighted_churned(),
                    sized.churned.others},
          .guarded = sized.guarded,
          .guarded_cost = sized.guarded_cost,
          .json = fmt::format(R"("hashes":{},"backups":{},"cell_bits":{},"modulator_share":{:.4f})", p.hashes,
                              p.backups, cell_bits, sized.modulator_share),
          .text = {}};
    }};

} // namespace weir::plan
