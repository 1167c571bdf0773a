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

std::uint64_t list_hits(const Counters &counters, CounterSlot slot) noexcept {
  std::uint64_t hits = 0;
  for (unsigned w = 0; w < counters.workers(); ++w) hits += counters.worker(w).lists[slot].get();
  return hits;
}

CounterSlot ListSlots::hold(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = slots_.find(name); known != slots_.end()) {
    Slot &slot = all_[known->second.value()];
    if (slot.holders++ == 0) idle_.erase(slot.idle);
    return known->second;
  }
  const CounterSlot number = free_slot();
  if (number == 0) return 0;
  Slot &slot = all_[number.value()];
  slot.of = {std::string(name), counters_ != nullptr ? list_hits(*counters_, number) : 0};
  slot.holders = 1;
  slots_.emplace(name, number);
  return number;
}

// One that never had a name, else the one that has been idle for longest; 0: there is none.
CounterSlot ListSlots::free_slot() {
  if (all_.size() < most_) {
    all_.emplace_back();
    return CounterSlot(all_.size() - 1);
  }
  if (counters_ == nullptr || idle_.empty()) return 0;
  const CounterSlot oldest = idle_.front();
  idle_.pop_front();
  slots_.erase(all_[oldest.value()].of.name);
  return oldest;
}

void ListSlots::let_go(CounterSlot slot) {
  if (slot == 0) return;
  const std::lock_guard lock(mutex_);
  if (Slot &of = all_[slot.value()]; --of.holders == 0) of.idle = idle_.insert(idle_.end(), slot);
}

std::vector<ListSlots::Name> ListSlots::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<Name> names;
  names.reserve(all_.size());
  for (const Slot &slot : all_) names.push_back(slot.of);
  return names;
}

std::string ListSlots::name_of(CounterSlot slot) const {
  const std::lock_guard lock(mutex_);
  return slot.value() < all_.size() ? all_[slot.value()].of.name : std::string();
}

} // namespace weir::dataplane
