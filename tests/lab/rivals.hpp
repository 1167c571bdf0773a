// What the Seesaw filter is held against, each in the same space.
//
// Papers give counting filters cells of four bits; those whose names end in _best have the width that lets
// least of the cost through after churn, two bits to four, as the Seesaw filter has. Cells of one bit never
// come down: good for few rounds, and the ruin of a filter that lives long, so nobody gets them where keys
// go.
#pragma once

#include "tests/lab/contenders.hpp"

#include <array>

namespace weir::lab {

struct Rival {
  const char *name;
  Entry (*entry)(const SeesawTask &task, const Needs &needs, std::string name);
};

[[nodiscard]] Entry counting_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry best_counting_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry weighted_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry best_weighted_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry equal_stack_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry best_equal_stack_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry best_stack_entry(const SeesawTask &task, const Needs &needs, std::string name);
[[nodiscard]] Entry cuckoo_entry(const SeesawTask &task, const Needs &needs, std::string name);

inline constexpr std::array<Rival, 8> rivals{{{"counting_bloom", counting_entry},
                                              {"counting_bloom_best", best_counting_entry},
                                              {"weighted_bloom", weighted_entry},
                                              {"weighted_bloom_best", best_weighted_entry},
                                              {"stacked_counting", equal_stack_entry},
                                              {"stacked_counting_best", best_equal_stack_entry},
                                              {"stacked_optimised", best_stack_entry},
                                              {"cuckoo", cuckoo_entry}}};

} // namespace weir::lab
