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
//
// Some kinds take every key at once. Others may have to move some before a key fits, one step for each grace
// period: then the caller asks again after one.
#pragma once

#include "weir/image/dynamic_filter.hpp"
#include "weir/image/view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::image {

class AllowFilterWriter {
public:
  using Entering = filter::Put;

  AllowFilterWriter() = default; // there is no filter: nothing is done
  explicit AllowFilterWriter(std::unique_ptr<DynamicFilter> filter)
      : filter_(std::move(filter)), built_(wear()) {}

  // Grace periods are shared by so many keys; beyond it one is worth waiting for.
  static constexpr std::size_t waiting_many = 4096;

  [[nodiscard]] Entering entering(KeyHash key) {
    if (const auto waits = waiting_.find(key.bits); waits != waiting_.end()) {
      if (--waits->second == 0) waiting_.erase(waits);
      return Entering::in;
    }
    if (none()) return Entering::in;
    const Entering entering = filter_->insert(key);
    full_ |= entering == Entering::full;
    return entering;
  }

  void left(KeyHash key) {
    if (!none()) ++waiting_[key.bits];
  }

  // A negative that should not be accepted, learnt late. Kinds that cannot learn refuse.
  filter::Learned learn(KeyHash negative) { return none() ? filter::Learned{} : filter_->learn(negative); }

  // No reader is left that met one of the waiting keys in a table, or a key where it was before it moved.
  void grace_passed() {
    if (none()) return;
    filter_->grace_passed();
    for (const auto &[bits, times] : waiting_)
      for (std::uint32_t i = 0; i < times; ++i) filter_->erase({bits});
    waiting_.clear();
  }

  // None: there is no filter.
  [[nodiscard]] std::optional<DynamicFilterLoad> load() const {
    return none() ? std::nullopt : std::optional(filter_->load());
  }
  // What reports show beside the load.
  [[nodiscard]] std::vector<filter::NamedCount> counts() const {
    return none() ? std::vector<filter::NamedCount>{} : filter_->counts();
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // Is there something that grace_passed() would carry out?
  [[nodiscard]] bool waits_for_grace() const {
    return !waiting_.empty() || (!none() && filter_->waits_for_grace());
  }

  // Has it left what it was planned for? Its answers stay right, its rates suffer, and it may be full: a
  // larger one is due.
  [[nodiscard]] bool is_saturated() const {
    const std::optional<DynamicFilterLoad> now = load();
    if (!now) return false;
    if (now->keys > now->planned_keys || full_) return true;
    const filter::Wear worn = now->wear.value_or(filter::Wear{});
    return worn.stuck > built_.stuck + stuck_share_more ||
           worn.modulator > built_.modulator + modulator_share_more;
  }

private:
  // Beyond the share as built, so that a new filter never is saturated from the start.
  static constexpr double stuck_share_more = 0.05, modulator_share_more = 0.15;

  [[nodiscard]] filter::Wear wear() const { return filter_->load().wear.value_or(filter::Wear{}); }
  [[nodiscard]] bool none() const noexcept { return filter_ == nullptr; }

  std::unique_ptr<DynamicFilter> filter_;
  filter::Wear built_;                                       // as attached
  bool full_ = false;                                        // it had no room for a key
  std::unordered_map<std::uint64_t, std::uint32_t> waiting_; // hash, how often
};

// Of an image that `view` has been attached to. Errors: bad_image, as there.
[[nodiscard]] Result<AllowFilterWriter> open_allow_filter(MutableBytes image, const ImageView &view);

} // namespace weir::image
