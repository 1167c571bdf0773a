// The filter in front of the allow tables: whether there is one, how large, and which denied addresses it
// must not take for allowed.
//
// `auto` takes none while the allow tables fit half of L2: asking them costs next to nothing then. Beyond
// that it sizes a cuckoo filter, a Seesaw counting filter and a stack of three counting layers for the same
// bits and takes the one that is predicted to let least of the cost through, after churn and with as many
// keys as there is room for: the cuckoo filter, which favours no key over others, unless bits are few or a
// few addresses carry most of the cost. These three are what an image can hold; a stack that knows no
// negative is a counting Bloom filter in effect, and each has its best widths of cells, so the choice is
// among all that could be built. A weighted Bloom filter, which is near a stack, is the laboratory's alone.
//
// Vulnerable are the hosts of the deny side, each at the lengths that allow tables are asked for it
// (IPv4: those in use below its /16, and 32 where the side has hosts alone; IPv6: all in use), and denied
// addresses seen in samples, which may lie inside a denied prefix. Other addresses inside denied prefixes
// cannot be listed: each such prefix counts as one address that cannot be guarded. A key costs one and the
// number of samples that named it; of more than vulnerable_max keys every n-th is taken, and those of
// samples in any case.
#pragma once

#include "control/plan/allow_filter_kinds.hpp"
#include "control/plan/calibration.hpp"
#include "weir/build/input.hpp"
#include "weir/config/config.hpp"
#include "weir/key/address.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::plan {

inline constexpr unsigned allow_bits_per_key = 20; // unless the configuration says otherwise
inline constexpr std::uint64_t vulnerable_max = std::uint64_t{1} << 20;

struct HotAddress { // denied, from samples
  Address address;
  std::uint64_t count = 0;
};

struct Vulnerable {
  std::vector<build::VulnerableKey> keys; // the dearest first
  std::uint64_t left_out = 0;             // by the limit, about
  std::uint64_t prefixes = 0;             // denied ones, whose addresses cannot be listed
};
[[nodiscard]] Vulnerable vulnerable_keys(const build::BuildInput &input, const std::vector<HotAddress> &hot,
                                         std::uint64_t keys_max = vulnerable_max);

struct AllowFilterPlan {
  std::string chosen = "none", why;
  Confirm confirm = Confirm::exact;
  std::uint64_t keys = 0, planned_keys = 0; // there is room for planned_keys
  std::uint64_t bytes = 0;
  std::uint64_t vulnerable = 0, left_out = 0; // denied keys known, and beyond the limit
  std::optional<SizedAllowFilter> sized;      // none: there is no filter
  std::vector<build::VulnerableKey> guarded;  // those that the filter is to be told of

  struct Rival { // that `auto` did not take
    std::string filter;
    double weighted_churned = 0;
  };
  std::vector<Rival> rivals; // the better first; empty: there was no choice

  std::string_view guarded_word; // see AllowFilterPlanner

  using Rates = AllowFilterRates;
  [[nodiscard]] Rates predicted() const noexcept { return sized ? sized->rates : Rates{}; }

  [[nodiscard]] double bits_per_key() const noexcept {
    return 8 * static_cast<double>(bytes) / static_cast<double>(planned_keys);
  }
};

// `planners`: of the kinds to choose among. Errors: no filter of the size asked for is possible.
[[nodiscard]] Result<AllowFilterPlan>
plan_allow_filter(const build::BuildInput &input, const config::Config &config, double hit_ratio,
                  const Calibration &calibration, const std::vector<HotAddress> &hot,
                  AllowFilterPlanners planners = allow_filter_planners());

} // namespace weir::plan
