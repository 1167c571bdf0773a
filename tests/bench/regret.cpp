#include "tests/bench/regret.hpp"

#include "control/plan/measure.hpp"

#include <fmt/core.h>

#include <optional>

namespace weir::bench {

namespace {

std::optional<plan::Calibration> &kept_calibration() {
  static std::optional<plan::Calibration> kept;
  return kept;
}

} // namespace

void calibrate(const Options &options) {
  auto result = plan::measure({.pages = options.eal_hugepages ? plan::Pages::huge : plan::Pages::ordinary});
  if (!result) give_up(result.error().message);
  kept_calibration() = std::move(*result);
}

const plan::Calibration &calibration(const Options &options) {
  if (!kept_calibration()) calibrate(options);
  return *kept_calibration();
}

namespace {

std::vector<plan::Option> options_of_shapes() {
  std::vector<plan::Option> options;
  for (const PlanShape &shape : plan_shapes()) options.push_back(shape.option);
  return options;
}

} // namespace

Regret::Regret(const Options &options, Family family, const char *family_name)
    : options_(options), family_(family), family_name_(family_name) {}

void Regret::at(std::uint64_t keys, double hit_percent, std::vector<Outcome> outcomes,
                const std::function<void(std::vector<Outcome> &)> &more) {
  const auto candidates = options_of_shapes();
  const plan::Answer answer = plan::choose(
      {.family = family_, .keys = keys, .hit_ratio = hit_percent / 100, .candidates = candidates},
      calibration(options_));
  std::size_t chosen = 0;
  while (candidates[chosen] != answer.chosen) ++chosen;
  std::size_t best = 0;
  const auto cost_of_choice = [&] {
    best = fastest(outcomes, 0, candidates.size());
    return chosen == best ? Figure{1, 0} : ratio_of(outcomes[best], outcomes[chosen]);
  };
  Figure cost = cost_of_choice();
  if (cost.median > 1.05) {
    more(outcomes);
    cost = cost_of_choice();
  }
  grid_.rows.push_back({count_words(keys), fmt::format("{:g} %", hit_percent), outcomes[chosen].name,
                        outcomes[best].name, with_spread(cost)});
  if (cost.median > worst_.median) worst_ = cost;
}

void Regret::finish(std::vector<Standing> &standings) const {
  show(options_, "regret_" + family_name_, "what the plan chose, against the fastest candidate", grid_);
  standings.push_back(standing(fmt::format("chosen plan / fastest candidate, time of {}, worst of {} points",
                                           family_name_, grid_.rows.size()),
                               1.10, 1.03, worst_, true));
}

} // namespace weir::bench
