// Sections offender_model, and memories of them, for tests.
#pragma once

#include "weir/build/offenders_builder.hpp"
#include "weir/build/trees_builder.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace weir::test {

// At a multiple of 64 bytes, as in an image.
class AlignedSection {
public:
  explicit AlignedSection(Bytes bytes) : memory_((bytes.size() + 63) / 64), size_(bytes.size()) {
    std::memcpy(memory_.data(), bytes.data(), size_);
  }
  [[nodiscard]] MutableBytes bytes() noexcept {
    return {reinterpret_cast<std::byte *>(memory_.data()), size_};
  }

private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> memory_;
  std::size_t size_;
};

// One feature decides: `low` where it is below `split`, else `high`.
inline std::shared_ptr<const learn::Trees> one_split(unsigned features, unsigned feature, unsigned split,
                                                     float low, float high) {
  build::TrainedTrees trained{.features = features, .base = 0, .seed = 1, .trees = {}};
  trained.trees.push_back({{.feature = feature, .threshold = double(split), .left = 1, .right = 2, .leaf = 0},
                           {.feature = -1, .threshold = 0, .left = -1, .right = -1, .leaf = low},
                           {.feature = -1, .threshold = 0, .left = -1, .right = -1, .leaf = high}});
  return std::make_shared<const learn::Trees>(build::flatten_trees(trained).value());
}

struct OffendersCase {
  OffenderElement element = OffenderElement::source;
  OffenderAction action = OffenderAction::drop;
  OffenderFilter filter = OffenderFilter::rotating;
  build::OffenderTargets targets{.accepted = 0.001, .missed = 0.1, .gap = 1000};
  std::uint64_t seed = 77;
  bool tells_denied = true;
  std::uint32_t tells_above = 0, limit = 0, burst = 0;
  std::vector<Prefix> spared{};
  std::shared_ptr<const learn::Trees> trees{}; // two groups, cut at 0
  std::array<build::ScoreGroup, 2> shares{{{0.5, 0.5}, {0.5, 0.5}}};

  [[nodiscard]] std::vector<std::byte> section() const {
    static constexpr std::array<float, 1> cut{0};
    static constexpr std::array<build::ScoreGroup, 1> all{{{1, 1}}};
    const std::span<const float> thresholds = trees ? std::span<const float>(cut) : std::span<const float>();
    const std::span<const build::ScoreGroup> groups =
        trees ? std::span<const build::ScoreGroup>(shares) : std::span<const build::ScoreGroup>(all);
    const std::vector<std::byte> neighbours(trees ? image::offender_neighbours : 0);
    build::OffendersInput in;
    in.element = element;
    in.action = action;
    in.plan = (filter == OffenderFilter::stable ? build::plan_stable_offenders(thresholds, groups, targets)
                                                : build::plan_rotating_offenders(thresholds, groups, targets))
                  .value();
    in.targets = targets;
    in.seed = seed;
    in.model = trees ? 1 : 0;
    in.tells_denied = tells_denied;
    in.tells_above = tells_above;
    in.limit = limit;
    in.burst = burst;
    in.spared = spared;
    in.neighbours = neighbours;
    if (trees) in.trees = trees->section();
    return build::build_offenders(in).value();
  }
};

} // namespace weir::test
