#include "dataplane/counters.hpp"

namespace weir::dataplane {

std::uint16_t ListSlots::slot_of(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = slots_.find(name); known != slots_.end()) return known->second;
  if (names_.size() == list_slots) return 0;
  const auto slot = static_cast<std::uint16_t>(names_.size());
  names_.emplace_back(name);
  slots_.emplace(name, slot);
  return slot;
}

std::vector<std::string> ListSlots::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::string ListSlots::name_of(std::uint16_t slot) const {
  const std::lock_guard lock(mutex_);
  return slot < names_.size() ? names_[slot] : std::string();
}

Counters::Counters(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<WorkerCounters>());
}

} // namespace weir::dataplane
