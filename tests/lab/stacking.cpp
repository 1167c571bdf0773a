#include "tests/lab/stacking.hpp"

#include "control/plan/stacked_size.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double, 4> rates{0.05, 0.03, 0.01, 0.001};
constexpr std::array<double, 4> known_per_positive{0.5, 1, 2, 5};
constexpr double positives = 100'000;

// The least psi with which Theorem 6.1 promises a smaller stack; null when none does.
Json psi_needed(double rate, double per_positive) {
  for (double psi = 0.002; psi < 1; psi += 0.002)
    if (build::stack_is_smaller(build::bloom_law, rate, psi, per_positive)) return psi;
  return nullptr;
}

Json needed() { // rows: |N_k| / |P|, then psi for each rate
  Json rows = Json::array();
  for (double per_positive = 0.05; per_positive < 10; per_positive *= 1.25) {
    Json row{per_positive};
    for (const double rate : rates) row.push_back(psi_needed(rate, per_positive));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json saved() { // rows: psi, then bits a key saved at 1 % for each |N_k| / |P|
  Json rows = Json::array();
  for (unsigned percent = 0; percent <= 100; percent += 2) {
    Json row{percent / 100.0};
    for (const double per_positive : known_per_positive)
      row.push_back(build::size_gain(build::bloom_law, 0.01, percent / 100.0, per_positive).saved());
    rows.push_back(std::move(row));
  }
  return rows;
}

// A workload that asks with probability psi for one of so many negatives, all alike, of which a stack may
// be told; beta = |P| / (|P| + |N_k|).
plan::StackPlan best_stack(double psi, double beta, double bits, unsigned depth_max) {
  const auto known = static_cast<std::size_t>(positives * (1 - beta) / beta);
  plan::StackTask task;
  task.positives = positives;
  task.negatives = plan::CostCurve::of(std::vector<double>(known, psi / static_cast<double>(known)), 1 - psi);
  task.bits_total = bits * positives;
  task.depth_max = depth_max;
  return plan::size_stack(task).value_or(plan::StackPlan{});
}

Json wins(double bits) { // rows: psi, beta, EFPR over the plain filter's
  Json rows = Json::array();
  for (double psi = 0.05; psi < 1; psi += 0.09)
    for (double beta = 0.1; beta < 0.95; beta += 0.1) {
      const plan::StackPlan plan = best_stack(psi, beta, bits, 5);
      rows.push_back({psi, beta, plan.efpr / plan.single_rate});
    }
  return rows;
}

Json against_bits() { // rows: bits, plain, stacks at psi 0.5 and 0.9, beta 0.1
  Json rows = Json::array();
  for (double bits = 4; bits <= 16; bits += 1) {
    const plan::StackPlan half = best_stack(0.5, 0.1, bits, 5), most = best_stack(0.9, 0.1, bits, 5);
    rows.push_back({bits, half.single_rate, half.efpr, most.efpr});
  }
  return rows;
}

Json probes() { // rows: bits, then probes of a positive and of an unknown negative, three and five layers
  Json rows = Json::array();
  for (double bits = 4; bits <= 16; bits += 1) {
    Json row{bits};
    for (const unsigned depth : {3u, 5u}) {
      const std::vector<double> of = best_stack(0.9, 0.5, bits, depth).rates();
      row.push_back(build::positive_probes(of));
      row.push_back(build::unknown_probes(of));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

std::string stacking_json() {
  Json json;
  json["rates"] = rates;
  json["known_per_positive"] = known_per_positive;
  json["psi_needed"] = needed();
  json["bits_saved"] = saved();
  json["wins"] = {{"6", wins(6)}, {"9", wins(9)}, {"12", wins(12)}};
  json["efpr_against_bits"] = against_bits();
  json["probes_against_bits"] = probes();
  return json.dump();
}

} // namespace weir::lab
