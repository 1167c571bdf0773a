// What a generation will be, before anything is built: sizes, expected lines and ns per lookup of each
// candidate, the choice of front filter and predictor with the reason, and whether memory suffices.
//
// Target p4 leaves little to choose: a chained predictor everywhere, no front filter unless a stack is asked
// for, sizes rounded up to powers of two.
//
// The image's size is exact (build::image_bytes). Lines follow from the load of table 1 (model.hpp), ns
// from the calibration (cost.hpp). A host lookup probes once for each prefix length in use near the
// address. Building needs the image once more beside the running one (a swap holds two), in hugepages
// when enough are free, else in ordinary pages, and some working memory.
#pragma once

#include "control/offenders/choose.hpp"
#include "control/plan/allow_filter.hpp"
#include "control/plan/cost.hpp"
#include "control/plan/deny_filter.hpp"
#include "control/plan/host_home.hpp"
#include "weir/base/memory_free.hpp"
#include "weir/base/result.hpp"
#include "weir/build/input.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::plan {

// ---- memory ------------------------------------------------------------------------------------

// A weir-control without rules.
inline constexpr std::uint64_t control_process_bytes = 19u << 20;

// "No free memory for a new image: needs X, Y free" unless an image of this size can be had now;
// `besides_bytes` is what building will take in ordinary pages besides.
[[nodiscard]] Status check_memory(std::uint64_t image_bytes, std::uint64_t besides_bytes,
                                  const MemoryFree &memory);

// ---- plan --------------------------------------------------------------------------------------

struct TablePlan {
  std::string name;       // "deny ipv4", "deny ipv6", "allow ipv4", "allow ipv6"
  std::uint64_t keys = 0; // in the table
  std::uint64_t hosts = 0, prefixes = 0;
  bool hosts_in_map = false, points = false; // hosts stand in the range map; as points
  bool hosts_in_words = false;               // but for `keys`, which stand in the table behind
  std::string hosts_why;                  // why they stand where they do; empty: there was nothing to choose
  std::uint64_t prefix_lengths = 0;       // different lengths in use
  std::uint64_t bytes = 0;                // of table, overlay and lengths in the image
  double lines_hit = 0, lines_absent = 0; // of one probe; 0 without keys
  double probes = 0; // of an address taken at random: the lengths in use around it that have to be asked
};

struct Choice {
  std::string what;   // "front_filter", "predictor"
  std::string chosen; // "none", "inline_bits"
  std::string why;
};

struct Candidate {
  Cost cost; // of a question to the largest deny table
  std::uint64_t image_bytes = 0;
  bool forced_out = false; // the configuration asks for something else
};

// What traffic looks like: counters of the dataplane, or nothing yet.
struct Workload {
  double hit_ratio = hit_ratio_assumed; // share of the questions that find a key
  std::uint64_t questions = 0;          // that it was measured over; 0: assumed
  [[nodiscard]] bool measured() const noexcept { return questions > 0; }
};

// What weir-control holds beside the effective state.
struct ListsMemory {
  std::uint64_t lists_bytes = 0;    // contents of the lists that are planned for, and entries added by hand
  std::uint64_t replaced_bytes = 0; // lists in force that these do not share, until the change is over
  std::uint64_t notes_bytes = 0;    // what feeds say of their entries, until it is in the store
  std::uint64_t reading_bytes = 0;  // at the highest while feeds are read
};

// What a plan depends on besides rules and configuration.
struct Circumstances {
  std::uint64_t before_bytes = 0; // the running image, 0 when there is none
  std::uint64_t image_copies = 1; // one for each NUMA node that has workers
  MemoryFree memory = {};
  Workload workload = {};
  Calibration calibration = built_in_calibration();
  double build_ns_per_key = 0;         // of the last build here; 0: unknown
  std::vector<HotAddress> hot = {};    // denied addresses that samples name
  std::optional<HomeChoice> home = {}; // where the input's prefixes are resolved, of whoever did that
  workload::Negatives negatives = {};  // what samples say of addresses that nothing denies
  ListsMemory lists = {};
  std::shared_ptr<const offenders::Model> offender_model = {}; // null: nothing has been learned
};

struct Trained { // what became of a chained predictor; known after the build
  double ms = 0, bits_per_key = 0;
  unsigned layers = 0;
  bool exact = false; // else lookups follow the lines' own group bits
};

struct AllowFilterBuilt {  // what became of the filter in front of the allow tables; known after the build
  double guarded_rate = 0; // of the guarded keys, how many it accepts
  double modulator_share = 0, stuck_share = 0;
};

struct Plan {
  build::Target target = build::Target::cpp;
  std::vector<TablePlan> tables;
  std::vector<Candidate> candidates;
  Choice front_filter, predictor;
  HomeChoice home; // of the deny side's IPv4 hosts
  AllowFilterPlan allow_filter;
  DenyFilterPlan deny_filter;
  std::optional<offenders::Choice> offenders;           // none: nothing is remembered
  Option chosen;                                        // goes into the build's input, see apply_to()
  build::ChainWords chain_words_v4{}, chain_words_v6{}; // of the deny side; 0: the builder's own sizes
  Workload workload = {};
  std::string calibration; // where the figures come from
  std::uint64_t image_bytes = 0;
  std::uint64_t before_bytes = 0;  // the running image, 0 when there is none
  std::uint64_t image_copies = 1;  // one for each NUMA node that has workers
  std::uint64_t swap_bytes = 0;    // all of both at once
  std::uint64_t rules_bytes = 0;   // effective state, in memory while planning and building
  std::uint64_t scratch_bytes = 0; // working memory of the builder
  std::uint64_t needed_bytes = 0;  // image and scratch: what must be free now
  // Of each process at rest and at its highest, for a dataplane beside what it takes for packets: there a swap
  // holds both images, and a copy of the new one until it is on the disk.
  std::uint64_t control_bytes = 0, control_peak_bytes = 0, dataplane_bytes = 0, dataplane_peak_bytes = 0;
  MemoryFree memory;
  bool hugepages = false; // the image will lie in hugepages
  bool fits = true;
  double build_ms = 0;    // expected
  std::string build_from; // what that follows from
  std::optional<Trained> trained;
  std::optional<AllowFilterBuilt> allow_filter_built;
  std::string built_for;        // why there was a new image without new rules; empty: there are new rules
  std::uint64_t planned_at = 0; // seconds since the epoch, of the image; 0: it is not built
};

// `input` needs lists, sides and the target only. Does not refuse for lack of memory: `fits` says it, and
// check_memory() makes the error. Errors: refused, when the configuration wants what the target does not
// have.
[[nodiscard]] Result<Plan> make_plan(const build::BuildInput &input, const config::Config &config,
                                     const Circumstances &circumstances);

// Kept figures for the pages that an image of this input will have, or a measurement.
[[nodiscard]] Calibration calibration_for(const build::BuildInput &input, const MemoryFree &memory,
                                          const std::filesystem::path &state);

// Writes the choice into what is built.
void apply_to(build::BuildInput &input, const Option &chosen);
// With the sizes of layers; the input refers to the plan's guarded keys from then on.
void apply_to(build::BuildInput &input, const Plan &plan);

[[nodiscard]] std::string to_text(const Plan &plan); // for a terminal
[[nodiscard]] std::string to_json(const Plan &plan); // one object: candidates, chosen, why, tables, memory

[[nodiscard]] std::string json_text(const std::string &text); // as it stands between quotes
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);   // "31.2 MiB"

} // namespace weir::plan
