// When to stack: what the formulas and the planner say, without building anything. Bloom layers throughout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weir::lab {

// Parts by name, each a member of what stacking_json() prints:
//
//   psi_needed           |N_k| / |P|, then psi from which Theorem 6.1 holds at each of `rates`
//   bits_saved           psi, then bits a key saved at 1 % for each of `known_per_positive`
//   wins                 for so many bits a key: psi, beta, EFPR over the plain filter's rate
//   size_wins            for a rate in percent: psi, beta, bits over the plain filter's
//   efpr_against_bits    bits a key, plain filter's rate, EFPR at psi 0.5 and 0.9; beta 0.1
//   probes_against_bits  bits a key, layers that a present and an absent key reach, of three; of five; beta
//   0.5,
//                        psi 0.9
//   size_against_psi     psi, bits a key of plain filter and stack at 1 %, at 0.01 %; beta 0.5
//   size_against_rate    rate, bits a key of the plain filter, of stacks at beta 0.1, 0.2, 0.5; psi 0.75
//   size_against_keys    keys, bits a key of plain filter and stack at 1 %, at 0.1 %; beta 0.5, psi 0.75
//   shift                stacking_shift.cpp
//
// beta = |P| / (|P| + |N_k|) [Stacked §6; Stacked-early §6]. null where nothing keeps the constraint.
[[nodiscard]] const std::vector<std::string> &stacking_parts();

// One JSON object with these parts, or with all.
[[nodiscard]] std::string stacking_json(const std::vector<std::string> &parts);

// What stacks are worth once the workload has changed.
[[nodiscard]] nlohmann::ordered_json shift_rows();

} // namespace weir::lab
