// weir.yaml as a value. Both programs read the same file through load(); the only file that knows
// YAML is config.cpp. An unknown key is an error that names the nearest known one.
#pragma once

#include "weir/base/result.hpp"
#include "weir/config/format.hpp"
#include "weir/config/health_hook.hpp"
#include "weir/config/packet_rules.hpp"
#include "weir/config/port.hpp"
#include "weir/image/lists.hpp"
#include "weir/key/address.hpp"
#include "weir/key/offender.hpp"
#include "weir/key/policy.hpp"
#include "weir/key/verdict.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct Eal {
  std::string lcores;             // EAL core list for the workers, for example "2-5"; empty: EAL's choice
  std::vector<std::string> allow; // PCI addresses beside those of the ports, or with arguments
  std::string file_prefix = "weir";
  std::vector<std::string> vdevs; // virtual devices, for example "net_af_packet0,iface=veth0"
  std::vector<std::string> extra; // further EAL arguments, passed as they are
  enum class Hugepages : std::uint8_t { automatic, yes, no } hugepages = Hugepages::automatic;
  unsigned memory_mib = 0; // 0: EAL's default, or 256 without hugepages
};

enum class NoImage : std::uint8_t { open, closed };
enum class FrontFilter : std::uint8_t { automatic, none, split_block_bloom, stacked };
enum class Predictor : std::uint8_t { automatic, inline_bits, chained };
// What a feed may hold; docs/operating.md tells what the guards are for. Lengths count bits, and a share is
// one of all addresses of the family.
struct ShortestPrefix {
  unsigned v4 = 8, v6 = 16;
};
struct MaxCovered {
  double v4 = 1, v6 = 1;
};

// Counts of lines or lengths; lookup_cost.hpp has what they hold.
struct PerFamily {
  unsigned v4 = 0, v6 = 0;
};

struct List {
  std::string name;
  Side action = Side::deny;
  std::filesystem::path
      file; // empty: dynamic only; relative paths are resolved against the configuration's folder
  std::vector<std::string> entries; // written inline, `entries: [10.0.0.0/8]`
  Format format = Format::automatic;
  bool dynamic = false;                    // filled by `weirctl list add`
  std::optional<std::chrono::seconds> ttl; // default of dynamic entries
  OnError on_error = OnError::refuse;
  std::string comment;
  std::optional<unsigned> shortest_v4, shortest_v6;       // none: what the guard says for the action
  std::optional<double> max_covered_v4, max_covered_v6;   // none: likewise
  std::optional<double> max_change;                       // none: guard.max_change
  std::optional<unsigned> max_nested_v4, max_nested_v6;   // none: the guard's
  std::optional<unsigned> max_lengths_v4, max_lengths_v6; // none: likewise
  RuleAction on_match = RuleAction::drop;                 // of a deny list; never pass
  std::uint32_t limit_packets = 0, limit_burst = 0;       // of rate_limit, a second and at once
  RulePer limit_per = RulePer::rule;                      // rule: the whole list
  bool mapped_both = false; // IPv6 entries that carry an IPv4 prefix stand for that, too
};

inline constexpr std::string_view allow_filter_auto = "auto", allow_filter_none = "none";

// What stands in front of the allow tables; when they are asked is policy.confirm.
struct Allow {
  std::string filter{allow_filter_auto}; // or none, or a kind as image::allow_filter_kinds() names it
  std::optional<unsigned> bits_per_key;  // of the filter; none: the planner's
  bool adaptive = false; // a Seesaw filter's cells have a bit for addresses that become hot late
};
inline constexpr unsigned allow_bits_per_key_min = 6, allow_bits_per_key_max = 64;

struct Guard {
  std::vector<Prefix> never_deny;
  double max_change = 1.0; // share of a list that may change within a day; 1 = any
  ShortestPrefix shortest_deny{8, 16}, shortest_allow{16, 32};
  MaxCovered covered_deny{0x1p-2, 0x1p-5};   // of all deny lists together; 2000::/3 is all that is in use
  MaxCovered covered_allow{0x1p-4, 0x1p-12}; // of each allow list
  PerFamily max_nested{8, 12};
  std::optional<unsigned> max_lengths_v4, max_lengths_v6; // none: max_lengths_default, from a second load on
};

inline constexpr PerFamily max_lengths_default{16, 32}; // there are no more of IPv4

// What judges denied hosts in compact mode: layers that take hosts in place, ChainedFilter with `&` [Chained Alg. 1], or binary
// fuse layers.
enum class Judge : std::uint8_t { automatic, stacked, chained_and, fuse };

// `mode: compact`: denied hosts stand in a filter alone, without tables [Stacked].
struct Compact {
  double false_positive_budget = 1e-4;       // share of the questions that nothing denies and that are denied
  double unknown_budget = 1e-2;              // the same of a source that nobody has seen before
  std::optional<std::uint64_t> memory_bytes; // of the filter, at most; none: what the budgets need
  Judge judge = Judge::automatic;
  int line = 0; // where memory_bytes stands
};
inline constexpr double budget_max = 0.5;
inline constexpr std::uint64_t compact_bytes_min = 4096;
inline constexpr unsigned sample_one_in_max = 1u << 20;

// `offenders:`: what misbehaved lately is remembered in bounded memory [SLBF].
struct Offenders {
  enum class Filter : std::uint8_t { automatic, slbf, stable, rotating };
  OffenderElement element = OffenderElement::source;
  OffenderAction action = OffenderAction::count;
  Filter filter = Filter::automatic;
  std::uint64_t gap = 200'000;            // insertions that are remembered
  double accepted = 0.01;                 // wrong accepts, of what was never told
  double missed = 0.10;                   // of what was told a gap ago; filters that miss
  unsigned groups = 6;                    // of scores; 0: as many as keep p falling and q rising
  bool tells_denied = true;               // packets that a deny list drops
  std::uint32_t tells_above = 0;          // packets a second of a source that no list decides about; 0: none
  std::uint32_t limit = 100, burst = 200; // of rate_limit: packets a second of a group, and at once
  std::string ban_list;                   // of ban: a dynamic deny list
  std::chrono::seconds ban_ttl{600};
  unsigned bans_a_minute = 60;
  std::optional<std::chrono::seconds> train_every = std::chrono::hours(1); // none: on request alone
  std::filesystem::path model;       // a classifier to begin with; empty: none
  std::optional<std::uint64_t> seed; // of the memory; none: drawn once and kept
  unsigned train_samples = 20'000;   // of either side
  int line = 0;                      // where it stands
};
inline constexpr std::uint64_t offender_gap_min = 1'000, offender_gap_max = 10'000'000;

struct Paths {
  std::filesystem::path run = "/run/weir";       // sockets: dataplane.sock, control.sock
  std::filesystem::path state = "/var/lib/weir"; // store/ of control, last.image of the dataplane
};

struct Config {
  std::filesystem::path source; // the file it came from
  Eal eal;
  std::vector<Port> ports;
  Policy policy; // with allow.confirm
  NoImage no_image = NoImage::open;
  std::vector<PacketRule> rules; // asked before the lists
  std::vector<List> lists;
  Allow allow;
  Guard guard;
  FrontFilter front_filter = FrontFilter::automatic;
  Predictor predictor = Predictor::automatic;
  std::optional<Compact> compact; // none: `mode: exact`
  std::optional<Offenders> offenders;
  std::chrono::seconds replan_interval{60}; // between images that the workload asks for, at least
  unsigned sample_one_in = 1024;            // packets that a worker tells of
  Paths paths;
  std::string metrics_listen; // host:port; empty: off
  HealthHook health;
  unsigned generations_kept = 5;
};

// What holds for one list: its own settings, else those of its action. A deny list without one of its own
// is held by the ceiling of all together alone.
[[nodiscard]] inline ShortestPrefix shortest_prefix(const Guard &guard, const List &list) {
  const ShortestPrefix &of_action = list.action == Side::allow ? guard.shortest_allow : guard.shortest_deny;
  return {list.shortest_v4.value_or(of_action.v4), list.shortest_v6.value_or(of_action.v6)};
}
[[nodiscard]] inline MaxCovered max_covered(const Guard &guard, const List &list) {
  const MaxCovered of_action = list.action == Side::allow ? guard.covered_allow : MaxCovered{};
  return {list.max_covered_v4.value_or(of_action.v4), list.max_covered_v6.value_or(of_action.v6)};
}
[[nodiscard]] inline double max_change(const Guard &guard, const List &list) {
  return list.max_change.value_or(guard.max_change);
}

[[nodiscard]] inline PerFamily max_nested(const Guard &guard, const List &list) {
  return {list.max_nested_v4.value_or(guard.max_nested.v4), list.max_nested_v6.value_or(guard.max_nested.v6)};
}
[[nodiscard]] inline PerFamily max_lengths(const Guard &guard, const List &list) {
  return {list.max_lengths_v4.value_or(guard.max_lengths_v4.value_or(max_lengths_default.v4)),
          list.max_lengths_v6.value_or(guard.max_lengths_v6.value_or(max_lengths_default.v6))};
}

// Reads and checks a configuration. All faults are reported in one error, one per line, each with
// file, line, key and what would be right.
[[nodiscard]] Result<Config> load(const std::filesystem::path &file);

// The same from text; `name` stands in for the file name in messages and anchors relative paths.
[[nodiscard]] Result<Config> parse(const std::string &text, const std::filesystem::path &name);

} // namespace weir::config
