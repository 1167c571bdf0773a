#include "control/plan/seesaw_size.hpp"
#include "tests/lab/contenders.hpp"

#include <algorithm>
#include <cmath>

namespace weir::lab {
namespace {

// Of a section: its header, and what pads two arrays to lines.
constexpr std::uint64_t overhead_bits = 8 * (sizeof(filter::SeesawHeader) + 2 * cache_line_bytes);

Status force(const ForcedShape &forced, const Needs &needs, build::SeesawParams &p, double modulator_share) {
  p.hashes = forced.hashes.value_or(p.hashes);
  p.positive_bits = forced.positive_bits.value_or(p.positive_bits);
  p.count_bits = forced.count_bits.value_or(p.count_bits);
  if (forced.backups) {
    p.backups = *forced.backups;
    p.index_bits = static_cast<unsigned>(std::bit_width(p.backups - 1));
  }
  p.index_bits = forced.index_bits.value_or(p.index_bits);
  const std::uint64_t bits = needs.bits - std::min(needs.bits / 2, overhead_bits);
  p = build::seesaw_split(p, bits, forced.modulator_share.value_or(modulator_share));
  if (!forced.cells_per_key) return {};
  const auto cells = static_cast<std::uint64_t>(*forced.cells_per_key * static_cast<double>(needs.keys));
  const unsigned width = p.negative_bits + p.positive_bits + (p.adaptive ? 1 : 0);
  p.cell_words = round_up(filter::CellArray::words_for(cells, width), 8); // whole lines
  if ((p.cell_words + 1) * 64 > bits)
    return fail(Errc::usage, "so many cells leave no room for a modulator: ask for more --bits or fewer "
                             "--cells-per-key");
  p.modulator_words = bits / 64 - p.cell_words;
  return {};
}

} // namespace

plan::CostCurve known_costs(const Needs &needs) {
  std::vector<double> costs(needs.known);
  for (std::uint64_t i = 0; i < needs.known; ++i) costs[i] = needs.mass[i + 1] - needs.mass[i];
  return plan::CostCurve::of(costs, needs.mass.back() - needs.mass[needs.known]);
}

Result<SeesawChoice> choose_seesaw(const SeesawTask &task, const Needs &needs) {
  plan::SeesawTask wanted;
  wanted.keys = needs.keys;
  wanted.bits_total = needs.bits;
  wanted.costs = known_costs(needs);
  wanted.churn_rounds = task.rounds;
  wanted.churn_share = task.churn;
  wanted.adaptive = wanted.late = task.ada;
  auto planned = TRY(plan::size_seesaw(wanted));

  SeesawChoice choice{planned.params, planned.guarded, {}};
  if (task.forced.any()) {
    TRY(force(task.forced, needs, choice.params, planned.modulator_share));
    if (task.forced.guarded)
      choice.guarded = static_cast<std::uint64_t>(*task.forced.guarded * static_cast<double>(task.negatives));
  }
  TRY(build::seesaw_header(choice.params));

  const auto keys = static_cast<double>(needs.keys), guarded = static_cast<double>(choice.guarded);
  const double cost = needs.mass[choice.guarded], share = guarded / static_cast<double>(task.negatives);
  const double turnover = task.rounds * task.churn;
  // Late ones are not known while the filter is fresh.
  const plan::SeesawForecast fresh = plan::forecast_seesaw(choice.params, keys, task.ada ? 0 : guarded, 0);
  const plan::SeesawForecast churned =
      task.ada ? plan::forecast_seesaw_late(choice.params, keys, guarded, turnover)
               : plan::forecast_seesaw(choice.params, keys, guarded, turnover);
  const double told_cost = task.ada ? 0 : cost, told_share = task.ada ? 0 : share;
  choice.predicted = {fresh.weighted(told_cost), fresh.weighted(told_share), churned.weighted(cost),
                      churned.weighted(share)};
  return choice;
}

} // namespace weir::lab
