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
// A cuckoo filter may have to move others before a key fits, one step for each grace period: then the
// caller asks again after one. Seesaw filters and stacks take every key at once.
#pragma once

#include "weir/filter/cuckoo_writer.hpp"
#include "weir/filter/seesaw_writer.hpp"
#include "weir/filter/stacked_counting.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

namespace weir::image {

struct AllowFilterLoad {
  std::uint64_t keys = 0, planned_keys = 0;
};

class AllowFilterWriter {
public:
  enum class Entering : std::uint8_t {
    in,
    waits, // to be asked again after grace_passed()
    full,  // it cannot hold this key: a larger filter is due
  };

  AllowFilterWriter() = default; // there is no filter: nothing is done
  explicit AllowFilterWriter(const filter::SeesawWriter &filter) : filter_(filter), built_(wear()) {}
  explicit AllowFilterWriter(const filter::CuckooWriter &filter) : filter_(filter) {}
  explicit AllowFilterWriter(filter::StackedCountingWriter filter)
      : filter_(std::move(filter)), built_(wear()) {}

  // Grace periods are shared by so many keys; beyond it one is worth waiting for.
  static constexpr std::size_t waiting_many = 4096;

  [[nodiscard]] Entering entering(KeyHash key) {
    if (const auto waits = waiting_.find(key.bits); waits != waiting_.end()) {
      if (--waits->second == 0) waiting_.erase(waits);
      return Entering::in;
    }
    if (auto *seesaw = std::get_if<filter::SeesawWriter>(&filter_)) seesaw->insert(key);
    if (auto *stack = std::get_if<filter::StackedCountingWriter>(&filter_)) stack->insert(key);
    auto *cuckoo = std::get_if<filter::CuckooWriter>(&filter_);
    if (cuckoo == nullptr) return Entering::in;
    switch (cuckoo->insert_beside_readers(key)) {
    case filter::CuckooWriter::Put::in: return Entering::in;
    case filter::CuckooWriter::Put::waits: return Entering::waits;
    case filter::CuckooWriter::Put::full: break;
    }
    full_ = true;
    return Entering::full;
  }

  void left(KeyHash key) {
    if (!none()) ++waiting_[key.bits];
  }

  // A negative that should not be accepted, learnt late. A cuckoo filter favours nobody, and a stack learns
  // when it is built alone: they refuse.
  filter::SeesawLearned learn(KeyHash negative) noexcept {
    auto *seesaw = std::get_if<filter::SeesawWriter>(&filter_);
    return seesaw != nullptr ? seesaw->learn(negative) : filter::SeesawLearned{.refused = none() ? 0u : 1u};
  }

  // No reader is left that met one of the waiting keys in a table, or a slot before its fingerprint was
  // copied.
  void grace_passed() {
    if (auto *cuckoo = std::get_if<filter::CuckooWriter>(&filter_)) cuckoo->grace_passed();
    for (const auto &[bits, times] : waiting_)
      for (std::uint32_t i = 0; i < times; ++i) erase({bits});
    waiting_.clear();
  }

  // None: there is no filter.
  [[nodiscard]] std::optional<AllowFilterLoad> load() const noexcept {
    if (const auto *s = seesaw()) return AllowFilterLoad{s->load().keys, s->load().planned_keys};
    if (const auto *c = cuckoo()) return AllowFilterLoad{c->load().keys, c->load().planned_keys};
    if (const auto *s = stacked()) return AllowFilterLoad{s->load().keys, s->load().planned_keys};
    return std::nullopt;
  }
  // The filter, if it is of this kind.
  [[nodiscard]] const filter::SeesawWriter *seesaw() const noexcept {
    return std::get_if<filter::SeesawWriter>(&filter_);
  }
  [[nodiscard]] const filter::CuckooWriter *cuckoo() const noexcept {
    return std::get_if<filter::CuckooWriter>(&filter_);
  }
  [[nodiscard]] const filter::StackedCountingWriter *stacked() const noexcept {
    return std::get_if<filter::StackedCountingWriter>(&filter_);
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // Is there something that grace_passed() would carry out?
  [[nodiscard]] bool waits_for_grace() const noexcept {
    return !waiting_.empty() || (cuckoo() != nullptr && cuckoo()->leaving() != 0);
  }

  // Has it left what it was planned for? Its answers stay right, its rates suffer, and a cuckoo filter will
  // be full: a larger one is due.
  [[nodiscard]] bool is_saturated() const noexcept {
    const std::optional<AllowFilterLoad> now = load();
    if (!now) return false;
    if (now->keys > now->planned_keys || full_) return true;
    const Wear worn = wear();
    return worn.stuck > built_.stuck + stuck_share_more ||
           worn.modulator > built_.modulator + modulator_share_more;
  }

private:
  // Beyond the share as built, so that a new filter never is saturated from the start.
  static constexpr double stuck_share_more = 0.05, modulator_share_more = 0.15;

  // Shares of cells at their maximum for ever, and of modulator cells in use.
  struct Wear {
    double stuck = 0, modulator = 0;
  };
  [[nodiscard]] Wear wear() const noexcept {
    if (const auto *s = seesaw()) return {s->load().stuck_share(), s->load().modulator_share()};
    if (const auto *s = stacked()) return {s->load().stuck_share(), 0};
    return {};
  }
  [[nodiscard]] bool none() const noexcept { return std::holds_alternative<std::monostate>(filter_); }
  void erase(KeyHash key) noexcept {
    if (auto *seesaw = std::get_if<filter::SeesawWriter>(&filter_)) (void)seesaw->erase(key);
    if (auto *cuckoo = std::get_if<filter::CuckooWriter>(&filter_)) (void)cuckoo->erase(key);
    if (auto *stack = std::get_if<filter::StackedCountingWriter>(&filter_)) (void)stack->erase(key);
  }

  std::variant<std::monostate, filter::SeesawWriter, filter::CuckooWriter, filter::StackedCountingWriter>
      filter_;
  Wear built_;                                               // as attached
  bool full_ = false;                                        // a cuckoo filter had no room for a key
  std::unordered_map<std::uint64_t, std::uint32_t> waiting_; // hash, how often
};

} // namespace weir::image
