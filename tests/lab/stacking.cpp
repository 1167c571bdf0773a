#include "tests/lab/stacking.hpp"

#include "control/plan/stacked_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double, 4> rates{0.05, 0.03, 0.01, 0.001};
constexpr std::array<double, 4> known_per_positive{0.5, 1, 2, 5};
constexpr double positives = 100'000;
constexpr unsigned depth_max = 5; // of all that follows the early text

// The least psi with which Theorem 6.1 promises a smaller stack; null when none does.
Json psi_needed(double rate, double per_positive) {
  for (double psi = 0.002; psi < 1; psi += 0.002)
    if (build::stack_is_smaller(build::bloom_law, rate, psi, per_positive)) return psi;
  return nullptr;
}

Json needed() {
  Json rows = Json::array();
  for (double per_positive = 0.05; per_positive < 10; per_positive *= 1.25) {
    Json row{per_positive};
    for (const double rate : rates) row.push_back(psi_needed(rate, per_positive));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json saved() {
  Json rows = Json::array();
  for (unsigned percent = 0; percent <= 100; percent += 2) {
    Json row{percent / 100.0};
    for (const double per_positive : known_per_positive)
      row.push_back(build::size_gain(build::bloom_law, 0.01, percent / 100.0, per_positive).saved());
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- a workload of two numbers [Stacked-early §6] --------------------------------------------------

// Questions ask with probability psi for one of the negatives that a stack may be told of, all alike.
struct Workload {
  double psi = 0, beta = 0.5, keys = positives;
};

plan::StackTask task_of(const Workload &workload) {
  const auto known =
      static_cast<std::size_t>(std::lround(workload.keys * (1 - workload.beta) / workload.beta));
  const double rest = (1 - workload.psi) * static_cast<double>(known);
  plan::StackTask task;
  task.positives = workload.keys;
  task.negatives = plan::CostCurve::of(std::vector<double>(known, workload.psi), rest);
  task.depth_max = depth_max;
  return task;
}
plan::StackPlan least_errors(const Workload &workload, double bits, unsigned depth = depth_max) {
  plan::StackTask task = task_of(workload);
  task.bits_total = bits * workload.keys;
  task.depth_max = depth;
  return plan::size_stack(task).value_or(plan::StackPlan{});
}
plan::StackPlan least_bits(const Workload &workload, double rate) {
  plan::StackTask task = task_of(workload);
  task.rate_max = rate;
  return plan::size_stack(task).value_or(plan::StackPlan{});
}

// Rows of psi and beta, with what `of` says of each.
template <class Of> Json map_of(Of of) {
  Json rows = Json::array();
  for (unsigned psi = 5; psi <= 95; psi += 5)
    for (unsigned beta = 10; beta <= 90; beta += 10)
      rows.push_back({psi / 100.0, beta / 100.0, of(Workload{psi / 100.0, beta / 100.0})});
  return rows;
}
Json wins() {
  Json maps;
  for (const unsigned bits : {6u, 9u, 12u})
    maps[std::to_string(bits)] = map_of([bits](const Workload &workload) {
      const plan::StackPlan plan = least_errors(workload, bits);
      return plan.efpr / plan.single_rate;
    });
  return maps;
}
Json size_wins() {
  Json maps;
  for (const auto &[name, rate] : {std::pair{"1", 1e-2}, {"0.01", 1e-4}, {"0.001", 1e-5}})
    maps[name] = map_of([rate](const Workload &workload) {
      const plan::StackPlan plan = least_bits(workload, rate);
      return plan.bits / plan.single_bits;
    });
  return maps;
}

Json against_bits() {
  Json rows = Json::array();
  for (double bits = 4; bits <= 16; bits += 0.5) {
    const plan::StackPlan half = least_errors({0.5, 0.1}, bits), most = least_errors({0.9, 0.1}, bits);
    rows.push_back({bits, half.single_rate, half.efpr, most.efpr});
  }
  return rows;
}

Json probes() {
  Json rows = Json::array();
  for (double bits = 4; bits <= 16; bits += 0.5) {
    Json row{bits};
    for (const unsigned depth : {3u, 5u}) {
      const plan::StackPlan plan = least_errors({0.9, 0.5}, bits, depth);
      const std::vector<double> of = plan.rates();
      row.push_back(build::positive_probes(of));
      row.push_back(plan.psi * build::known_probes(of) + (1 - plan.psi) * build::unknown_probes(of));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double a_key(double bits, const Workload &workload) { return bits / workload.keys; }

Json size_against_psi() {
  Json rows = Json::array();
  for (unsigned percent = 5; percent <= 100; percent += 5) {
    const Workload workload{percent / 100.0, 0.5};
    Json row{workload.psi};
    for (const double rate : {1e-2, 1e-4}) {
      const plan::StackPlan plan = least_bits(workload, rate);
      row.push_back(a_key(plan.single_bits, workload));
      row.push_back(a_key(plan.bits, workload));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json size_against_rate() {
  Json rows = Json::array();
  for (double rate = 1e-5; rate < 0.11; rate *= std::sqrt(10.0)) {
    Json row{rate};
    for (const double beta : {0.1, 0.2, 0.5}) {
      const Workload workload{0.75, beta};
      const plan::StackPlan plan = least_bits(workload, rate);
      if (row.size() == 1) row.push_back(a_key(plan.single_bits, workload));
      row.push_back(a_key(plan.bits, workload));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json size_against_keys() {
  Json rows = Json::array();
  for (double keys = 1000; keys < 2e7; keys *= std::sqrt(10.0)) {
    const Workload workload{0.75, 0.5, std::round(keys)};
    Json row{workload.keys};
    for (const double rate : {1e-2, 1e-3}) {
      const plan::StackPlan plan = least_bits(workload, rate);
      row.push_back(a_key(plan.single_bits, workload));
      row.push_back(a_key(plan.bits, workload));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Part {
  const char *name;
  Json (*rows)();
};
constexpr std::array<Part, 10> parts{{{"psi_needed", needed},
                                      {"bits_saved", saved},
                                      {"wins", wins},
                                      {"size_wins", size_wins},
                                      {"efpr_against_bits", against_bits},
                                      {"probes_against_bits", probes},
                                      {"size_against_psi", size_against_psi},
                                      {"size_against_rate", size_against_rate},
                                      {"size_against_keys", size_against_keys},
                                      {"shift", shift_rows}}};

} // namespace

const std::vector<std::string> &stacking_parts() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Part &part : parts) all.emplace_back(part.name);
    return all;
  }();
  return names;
}

std::string stacking_json(const std::vector<std::string> &wanted) {
  Json json;
  json["rates"] = rates;
  json["known_per_positive"] = known_per_positive;
  for (const Part &part : parts)
    if (wanted.empty() || std::ranges::find(wanted, part.name) != wanted.end()) json[part.name] = part.rows();
  return json.dump();
}

} // namespace weir::lab
