// The filter of the deny side: whether there is one, its form and layers, and the sources that it must not
// take for denied [Stacked §3, §6; Chained Alg. 1].
//
//   compact    the judge of denied hosts: there are no tables behind it. Its errors are packets lost, so two
//              budgets bound them: EFPR, over the questions as they come, and EFPB, for a source that nobody
//              has seen. The least memory that keeps both, or, where the configuration gives less than that,
//              the fewest errors in it that keep the second. Even one layer with nothing known has to keep
//              that one: otherwise there is no plan. Candidates are stacks, fuse layers among them, and
//              ChainedFilter with `&` (deny_form.hpp); of those that the configuration leaves the best is taken, or one
//              that is asked faster and is worse by less than form_saving_min
//   exact      a filter in front of the tables, of the bits that a split-block filter would take. Errors
//              cost a look at a table each. `front_filter: stacked` asks for it; `auto` takes it when it is
//              predicted cheaper than what it would take otherwise, which many small reads seldom are
//
// Known negatives are the hottest sources that samples name and that no deny list has, but for those that no
// filter is asked about, since the length map has no denied host in their /16; as many as the
// optimiser finds worth their bits; besides, hosts of the allow side, and sources that were denied wrongly
// once. The prefixes of never_deny stand beside a judge as ranges: nothing in them is ever denied.
//
// Nothing is known at first: then EFPR is taken for EFPB, which is what one layer has. An image with layers
// follows when samples have come (watch/deny_filter_watch.hpp).
#pragma once

#include "control/plan/calibration.hpp"
#include "control/plan/cost.hpp"
#include "control/plan/deny_form.hpp"
#include "control/plan/stacked_advice.hpp"
#include "control/plan/stacked_size.hpp"
#include "control/workload/negatives.hpp"
#include "weir/build/input.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::plan {

// Samples of negative questions before they say anything of the workload.
inline constexpr std::uint64_t workload_samples_min = 256;

// Room for 4,096 additions of IPv4 hosts, or 1,536 of IPv6, beside a judge: 32 KiB.
inline constexpr std::uint32_t judged_overlay_lines_least = 512;

struct DenyFilterPlan {
  std::string chosen = "none", why; // "none", "stacked"; of compact mode the word of the judge
  bool compact = false;
  DenyForm form = DenyForm::bloom;
  StackPlan stack;                          // without layers: none; of a chained filter its two stages
  std::uint64_t keys = 0, planned_keys = 0; // there is room for planned_keys
  std::uint64_t hot = 0;                    // known negatives that samples name
  std::uint64_t denied = 0;                 // sources of samples that a list denies by now
  double samples = 0;                       // negative questions that it rests on
  double false_positive_budget = 0, unknown_budget = 0; // compact alone
  std::optional<double> needed_bits;                    // compact: for both budgets, when there is less
  double ns = 0;                                        // of a question, estimated; exact: with the tables
  std::optional<StackAdvice> advice;                    // none: no samples yet
  double advice_rate = 0;
  std::vector<Address> known;                  // into the image: hot, allowed, once denied wrongly
  std::vector<workload::HotSource> known_cost; // of the hot ones, for those who watch the workload
  std::vector<bool> asked_cells; // of IPv4: /16s with denied hosts, other sources are never asked about
  std::vector<Prefix> spared;    // never_deny: ranges that a judge never denies

  struct Built { // what became of it; rates are those of the layers as they are
    std::uint64_t bytes = 0;
    std::vector<double> rates;
    double efpr = 0, efpb = 0;
    std::uint64_t known_accepted = 0; // known negatives that it takes all the same
    double ms = 0;
  };
  std::optional<Built> built;
  std::uint64_t class_map_bytes = 0; // compact: of the map that names the lists of what it denies
  std::uint64_t known_count = 0;

  struct Tried { // of the forms that were not taken too
    DenyForm form = DenyForm::bloom;
    double bits = 0, bits_per_key = 0, efpr = 1, efpb = 1; // 0 bits: it has no sizes
    double known_rate = 1, ns = 0;
    unsigned depth = 0;
    bool chosen = false;
    std::string why_not;
  };
  std::vector<Tried> tried;

  [[nodiscard]] bool stacks() const noexcept { return !stack.layers.empty(); }
  [[nodiscard]] double bits_per_key() const noexcept {
    return planned_keys == 0 ? 0 : stack.bits / static_cast<double>(planned_keys);
  }
  [[nodiscard]] bool keeps_budget() const noexcept {
    return !compact || !stacks() || (built ? built->efpr : stack.efpr) <= false_positive_budget * 1.001;
  }
};

struct DenyFilterTask {
  const build::BuildInput &input;
  const config::Config &config;
  const workload::Negatives &negatives;
  const Calibration &calibration;
  double hit_ratio = hit_ratio_assumed;
};

// What a form has to save that is asked more slowly than another: of the memory, or of the errors.
inline constexpr double form_saving_min = 0.05;

// Of compact mode, or for `front_filter: stacked`; without layers where the configuration wants neither.
// Errors: refused, when the hosts need more memory than the configuration gives; names what would do.
[[nodiscard]] Result<DenyFilterPlan> plan_deny_filter(const DenyFilterTask &task);

// What `front_filter: auto` does in exact mode: the stack's estimate beside the cost of what was chosen.
[[nodiscard]] DenyFilterPlan weigh_front_stack(const DenyFilterTask &task, const Cost &chosen);

// Of a question, what the tables behind a filter take: `asks` is the share that it accepts, `hits` that of present keys.
[[nodiscard]] double tables_ns(double asks, double hits, const Sizes &sizes, const Calibration &calibration);
// Of a question to tables behind a stack of these layers.
[[nodiscard]] double front_stack_ns(const StackPlan &stack, Family family, const Sizes &sizes,
                                    double hit_ratio, const Calibration &calibration);

[[nodiscard]] std::string to_json(const DenyFilterPlan &plan); // one object

} // namespace weir::plan
