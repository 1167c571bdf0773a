// The memory of offenders: the cells that an image describes (image/offenders.hpp), which outlive images of the same shape,
// and what a worker keeps beside them.
//
//   worker           told, asked; beside other workers, as filter/score_groups.hpp has it
//   service thread   marks, figures, words for the disk
//
// Filters are asked and told by keys and scores of an OffendersView of the same shape_digest().
#pragma once

#include "dataplane/sources/marks.hpp"
#include "dataplane/sources/seen_lately.hpp"
#include "dataplane/sources/shadow.hpp"
#include "dataplane/sources/source_rates.hpp"
#include "weir/base/result.hpp"
#include "weir/filter/score_groups.hpp"
#include "weir/image/offenders.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace weir::dataplane {

// What one worker keeps between bursts.
struct OffenderDesk {
  struct Bucket {
    double tokens = 0;
    std::uint64_t filled_ns = 0; // 0: not yet
  };
  SeenLately lately; // told, and reported to control
  SourceRates rates;
  std::array<Bucket, image::offender_groups_max> buckets;

  // Beside a memory of `gap` insertions.
  explicit OffenderDesk(std::uint64_t gap) : lately(4 * gap), rates(gap) {}
  [[nodiscard]] static std::uint64_t bytes_for(std::uint64_t gap) noexcept {
    return sizeof(OffenderDesk) + SeenLately::bytes_for(4 * gap) + SourceRates::bytes_for(gap);
  }

  // A packet of this group now: may it pass? `limit` packets a second, `burst` at once.
  [[nodiscard]] bool takes_token(unsigned group, std::uint64_t now_ns, double limit, double burst) noexcept;
};

class OffenderMemory {
public:
  // Errors: no_memory; those of the filters.
  [[nodiscard]] static Result<std::shared_ptr<OffenderMemory>> make(const image::OffendersView &view,
                                                                    unsigned workers);

  [[nodiscard]] std::uint64_t shape_digest() const noexcept { return digest_; }

  // ---- worker. At most filter::batch_max keys, with a score each
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys,
                                               std::span<const float> scores) const noexcept {
    return std::visit([&](const auto &cells) { return cells.contains_batch(keys, scores); }, cells_);
  }
  void insert_batch(std::span<const KeyHash> keys, std::span<const float> scores) noexcept;
  [[nodiscard]] OffenderDesk &desk(unsigned worker) noexcept { return *desks_[worker]; }
  [[nodiscard]] Marks &marks() noexcept { return marks_; }
  [[nodiscard]] const Marks &marks() const noexcept { return marks_; }
  [[nodiscard]] Shadow &shadow() noexcept { return shadow_; }

  // Insertions since it was empty.
  [[nodiscard]] std::uint64_t told() const noexcept { return told_.load(std::memory_order_relaxed); }

  // ---- service thread, or whoever holds the memory
  [[nodiscard]] bool contains(KeyHash key, float score) const noexcept {
    return std::visit([&](const auto &cells) { return cells.contains(key, score); }, cells_);
  }
  // What an address has to be marked with so that it is no offender: nothing where the memory does not know it.
  [[nodiscard]] Mark forgetting(const image::OffendersView &view, const Address &address) const noexcept;
  // Of each group: share of cells (stable) or bits (rotating) that are not zero; negative: it has no filter.
  [[nodiscard]] std::vector<double> in_use() const;
  // All of it but what desks and the shadow hold; a copy word by word while workers tell.
  [[nodiscard]] std::vector<std::uint64_t> saved() const;
  // False: words of another shape, nothing has changed. Before any worker has it.
  [[nodiscard]] bool restore(std::span<const std::uint64_t> words) noexcept;
  // The marks alone, which are of any shape with the same seed.
  void adopt_marks(const OffenderMemory &from);
  void restore_marks(std::span<const std::uint64_t> words) noexcept;
  [[nodiscard]] bool was_restored() const noexcept { return restored_; }

private:
  using Cells = std::variant<filter::StableGroups, filter::RotatingGroups>;
  OffenderMemory(const image::OffendersView &view, Cells cells);

  std::uint64_t digest_;
  Cells cells_;
  Marks marks_;
  Shadow shadow_;
  std::atomic<std::uint64_t> told_{0};
  bool restored_ = false;
  std::vector<std::unique_ptr<OffenderDesk>> desks_;
};

} // namespace weir::dataplane
