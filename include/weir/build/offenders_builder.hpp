// Section offender_model (image/offenders.hpp): how groups of scores are sized, and the bytes [SLBF §4].
#pragma once

#include "weir/build/score_groups_model.hpp"
#include "weir/image/offenders.hpp"
#include "weir/key/address.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

// What the filters must hold to.
struct OffenderTargets {
  double accepted = 0.01; // of keys that were never told, at most
  double missed = 0.1;    // of keys told `gap` insertions ago, at most; rotating filters miss none of them
  std::uint64_t gap = 200'000;
};

struct OffenderPlan {
  OffenderFilter filter{};
  std::uint64_t turn = 0;
  std::vector<image::OffenderGroup> groups; // thresholds as given
  std::uint64_t cell_bits = 0;
  double accepted = 0, missed = 0; // predicted; rotating: the mean over a turn
};

// `thresholds` of scores rise, one fewer than groups, which have their shares of keys told and others. Errors: usage,
// where the targets take more memory than there may be or cannot be held.
[[nodiscard]] Result<OffenderPlan> plan_stable_offenders(std::span<const float> thresholds,
                                                         std::span<const ScoreGroup> groups,
                                                         const OffenderTargets &targets);
[[nodiscard]] Result<OffenderPlan> plan_rotating_offenders(std::span<const float> thresholds,
                                                           std::span<const ScoreGroup> groups,
                                                           const OffenderTargets &targets);

struct OffendersInput {
  OffenderElement element{};
  OffenderAction action{};
  OffenderPlan plan;
  OffenderTargets targets;
  std::uint64_t seed = 0;  // of the memory: the same in all images, or they clear it
  std::uint64_t model = 0; // number of the training; 0: none
  bool tells_denied = true;
  std::uint32_t tells_above = 0;      // packets a second; 0: none
  std::uint32_t limit = 0, burst = 0; // of rate_limit
  std::span<const Prefix> spared;     // never taken for offenders
  Bytes neighbours;                   // with trees: offender_neighbours bytes
  Bytes trees;                        // section of learn/trees.hpp; none: one group
};

// The section, at a multiple of 64 bytes wherever it is put. Errors: usage, for parts that do not go together.
[[nodiscard]] Result<std::vector<std::byte>> build_offenders(const OffendersInput &in);

} // namespace weir::build
