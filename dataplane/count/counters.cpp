#include "dataplane/count/counters.hpp"

namespace weir::dataplane {

Counters::Counters(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<WorkerCounters>());
}

wire::CounterValues values_of(const WorkerCounters &worker) noexcept {
  wire::CounterValues values;
  for (std::size_t i = wire::counter_count; i-- > 0;) { // a part stands behind its whole
    const CounterId id = wire::counters[i].id;
    values[id] = worker[id].get();
  }
  return values;
}

wire::CounterValues sum(const Counters &counters) noexcept {
  wire::CounterValues total;
  for (unsigned w = 0; w < counters.workers(); ++w) {
    const wire::CounterValues one = values_of(counters.worker(w));
    for (const wire::CounterInfo &info : wire::counters) total[info.id] += one[info.id];
  }
  return total;
}

std::uint64_t list_hits(const Counters &counters, std::size_t slot) noexcept {
  std::uint64_t hits = 0;
  for (unsigned w = 0; w < counters.workers(); ++w) hits += counters.worker(w).lists[slot].get();
  return hits;
}

std::uint16_t ListSlots::hold(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = slots_.find(name); known != slots_.end()) {
    Slot &slot = all_[known->second];
    if (slot.holders++ == 0) idle_.erase(slot.idle);
    return known->second;
  }
  const std::uint16_t number = free_slot();
  if (number == 0) return 0;
  Slot &slot = all_[number];
  slot.of = {std::string(name), counters_ != nullptr ? list_hits(*counters_, number) : 0};
  slot.holders = 1;
  slots_.emplace(name, number);
  return number;
}

// One that never had a name, else the one that has been idle for longest; 0: there is none.
std::uint16_t ListSlots::free_slot() {
  if (all_.size() < list_slots - 1) {
    all_.emplace_back();
    return static_cast<std::uint16_t>(all_.size() - 1);
  }
  if (counters_ == nullptr || idle_.empty()) return 0;
  const std::uint16_t oldest = idle_.front();
  idle_.pop_front();
  slots_.erase(all_[oldest].of.name);
  return oldest;
}

void ListSlots::let_go(std::uint16_t slot) {
  if (slot == 0) return;
  const std::lock_guard lock(mutex_);
  if (--all_[slot].holders == 0) all_[slot].idle = idle_.insert(idle_.end(), slot);
}

std::vector<ListSlots::Name> ListSlots::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<Name> names;
  names.reserve(all_.size());
  for (const Slot &slot : all_) names.push_back(slot.of);
  return names;
}

std::string ListSlots::name_of(std::uint16_t slot) const {
  const std::lock_guard lock(mutex_);
  return slot < all_.size() ? all_[slot].of.name : std::string();
}

} // namespace weir::dataplane
