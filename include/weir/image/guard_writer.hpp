// Keeps the filter in front of the allow tables in step with them.
//
// The filter counts: what goes in twice has to come out twice, and taking out what is not in damages
// other keys. So the caller asks the exact table first and tells only what changes:
//
//   entering(key)   the table does not have it: in the filter before any table
//   left(key)       no table has it any more: out of the filter once a grace period has passed
//
// What is to go out waits here. A key that comes back meanwhile is struck off instead of being put in
// once more, so the filter holds every key of the tables exactly once, and those that wait besides.
#pragma once

#include "weir/filter/seesaw_writer.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace weir::image {

class GuardWriter {
public:
  GuardWriter() = default; // there is no filter: nothing is done
  explicit GuardWriter(const filter::SeesawWriter &filter) : filter_(filter), built_(filter.load()) {}

  // Grace periods are shared by so many keys; beyond it one is worth waiting for.
  static constexpr std::size_t waiting_many = 4096;

  void entering(KeyHash key) {
    if (!filter_) return;
    const auto waits = waiting_.find(key.bits);
    if (waits == waiting_.end()) return filter_->insert(key);
    if (--waits->second == 0) waiting_.erase(waits);
  }

  void left(KeyHash key) {
    if (filter_) ++waiting_[key.bits];
  }

  // No reader is left that met one of the waiting keys in a table.
  void grace_passed() {
    for (const auto &[bits, times] : waiting_)
      for (std::uint32_t i = 0; i < times; ++i) (void)filter_->erase({bits});
    waiting_.clear();
  }

  // None: there is no filter.
  [[nodiscard]] std::optional<filter::SeesawLoad> load() const noexcept {
    return filter_ ? std::optional(filter_->load()) : std::nullopt;
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  // Has it left what it was planned for? Its answers stay right, its rates suffer: a larger one is due.
  [[nodiscard]] bool is_strained() const noexcept {
    if (!filter_) return false;
    const filter::SeesawLoad now = filter_->load();
    return now.keys > now.planned_keys || now.stuck_share() > built_.stuck_share() + stuck_share_more ||
           now.modulator_share() > built_.modulator_share() + modulator_share_more;
  }

private:
  // Beyond the share as built, so that a new filter never is strained from the start.
  static constexpr double stuck_share_more = 0.05, modulator_share_more = 0.15;

  std::optional<filter::SeesawWriter> filter_;
  filter::SeesawLoad built_;
  std::unordered_map<std::uint64_t, std::uint32_t> waiting_; // hash, how often
};

} // namespace weir::image
