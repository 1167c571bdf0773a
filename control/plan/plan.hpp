// What a generation will be, before anything is built: sizes, expected lines per lookup, the choice
// of front filter and predictor with the reason, and whether memory suffices.
//
// Model of this version. The image's size is exact (build::image_bytes). Lines per probe follow from
// the load of table 1 (model.hpp). A host lookup probes once for each prefix length in use near the
// address. Building needs the image once more beside the running one (a swap holds two), in hugepages
// when enough are free, else in ordinary pages, and some working memory.
#pragma once

#include "control/config/config.hpp"
#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"
#include "weir/build/input.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weir::plan {

// ---- memory ------------------------------------------------------------------------------------

struct MemoryFree {
  std::uint64_t available_bytes = 0;                // MemAvailable
  std::optional<std::uint64_t> cgroup_free_bytes{}; // limit minus use of the tightest group; none: no limit
  std::uint64_t hugepage_bytes = 2u << 20;
  std::uint64_t hugepages_free_bytes = 0;

  // Ordinary pages that may be used before the kernel would have to kill something.
  [[nodiscard]] std::uint64_t ordinary_bytes() const noexcept {
    return cgroup_free_bytes && *cgroup_free_bytes < available_bytes ? *cgroup_free_bytes : available_bytes;
  }
  [[nodiscard]] bool fits_hugepages(std::uint64_t bytes) const noexcept {
    return round_up(bytes, hugepage_bytes) <= hugepages_free_bytes;
  }
};

// Reads /proc/meminfo, cgroup v1 and v2, /sys/kernel/mm/hugepages. `root` is "/" but in tests.
[[nodiscard]] Result<MemoryFree> memory_free(const std::filesystem::path &root = "/");

// "No free memory for a new image: needs X, Y free" unless an image of this size can be had now;
// `besides_bytes` is what building will take in ordinary pages besides.
[[nodiscard]] Status check_memory(std::uint64_t image_bytes, std::uint64_t besides_bytes,
                                  const MemoryFree &memory);

// ---- plan --------------------------------------------------------------------------------------

struct TablePlan {
  std::string name; // "deny ipv4", "deny ipv6", "allow ipv4", "allow ipv6"
  std::uint64_t keys = 0;
  std::uint64_t hosts = 0, prefixes = 0;
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
  std::string front_filter, predictor;
  std::uint64_t image_bytes = 0;
  double lines_hit = 0, lines_absent = 0; // of one probe of the largest deny table, filter included
  bool chosen = false;
};

struct Plan {
  std::vector<TablePlan> tables;
  std::vector<Candidate> candidates;
  Choice front_filter, predictor;
  bool deny_front_filter = false; // goes into BuildInput::deny
  std::uint64_t image_bytes = 0;
  std::uint64_t before_bytes = 0;  // the running image, 0 when there is none
  std::uint64_t swap_bytes = 0;    // both at once
  std::uint64_t rules_bytes = 0;   // effective state, in memory while planning and building
  std::uint64_t scratch_bytes = 0; // working memory of the builder
  std::uint64_t needed_bytes = 0;  // image and scratch: what must be free now
  MemoryFree memory;
  bool hugepages = false; // the image will lie in hugepages
  bool fits = true;
  double build_ms = 0; // expected, a rough figure
};

// `input` needs lists and sides only. Does not refuse for lack of memory: `fits` says it, and
// check_memory() makes the error.
[[nodiscard]] Result<Plan> make_plan(const build::BuildInput &input, const config::Config &config,
                                     std::uint64_t before_bytes, const MemoryFree &memory);

[[nodiscard]] std::string to_text(const Plan &plan); // for a terminal
[[nodiscard]] std::string to_json(const Plan &plan); // one object: candidates, chosen, why, tables, memory

[[nodiscard]] std::string human_bytes(std::uint64_t bytes); // "31.2 MiB"

} // namespace weir::plan
