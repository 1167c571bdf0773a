// Numbers of lists, and the dynamic entries that go with them. A list that leaves the rules keeps its number
// and its entries for as long as a kept generation names it, so that a rollback finds both.
#include "control/store/state.hpp"

#include "weir/image/lists.hpp"

namespace weir::store {

namespace {

constexpr std::string_view never_deny_name = "never_deny";

} // namespace

Status Store::State::load_lists(const std::vector<GenerationRecord> &kept) {
  take_numbers(kept);
  const std::string key = std::string(1, list_tag) + std::string(never_deny_name);
  const auto found = database.get(key);
  if (!found) return std::unexpected(found.error());
  if (*found) {
    never_deny = ListId(Decoder(**found).u16());
  } else {
    while (taken[never_deny.value()]) ++never_deny;
    if (const Status written = database.put(key, Encoder().u16(never_deny.value()).text); !written)
      return written;
  }
  // Entries whose list nobody names: a process that was to remove them was killed.
  for (std::string from(1, dynamic_tag);;) {
    const auto next = database.first_key(Keys::state, from);
    if (!next) return std::unexpected(next.error());
    if (!*next || (*next)->front() != dynamic_tag) return {};
    const ListId number(Decoder(std::string_view(**next).substr(1)).u16());
    if (number.value() >= image::lists_max || !taken[number.value()]) to_forget.insert(number);
    from = dynamic_range_end(number);
  }
}

// The caller holds the mutex, or nobody else is there yet.
void Store::State::take_numbers(const std::vector<GenerationRecord> &kept) {
  const auto before = taken;
  taken.reset();
  for (const GenerationRecord &g : kept)
    for (const ListMeta &l : g.lists)
      if (l.number.value() < image::lists_max) taken.set(l.number.value());
  const auto left = before & ~taken;
  for (std::size_t n = left._Find_first(); n < left.size(); n = left._Find_next(n))
    to_forget.insert(ListId(n));
}

ListId Store::never_deny_number() const { return state_->never_deny; }

Result<std::vector<ListId>> Store::free_numbers(std::size_t count) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<ListId> free;
  free.reserve(count);
  for (ListId number; number.value() < image::lists_max && free.size() < count; ++number)
    if (!state_->taken[number.value()] && number != state_->never_deny && !state_->to_forget.contains(number))
      free.push_back(number);
  if (free.size() < count)
    return fail(
        Errc::refused,
        fmt::format("{} new lists, and {} of {} list numbers are free: the others belong to lists of the "
                    "generations that are kept; lower generations_kept, apply the rules in force once "
                    "with it, and then these",
                    count, free.size(), image::lists_max));
  return free;
}

std::vector<ListId> Store::numbers_to_forget() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->to_forget.begin(), state_->to_forget.end()};
}

Status Store::forget_dynamic(const std::vector<ListId> &numbers) {
  Batch batch(state_->database);
  for (const ListId number : numbers) {
    const std::string first = dynamic_range(number);
    const auto entry = TRY(state_->database.first_key(Keys::state, first));
    // Most lists have none, and each range deletion is a burden for later reads.
    if (entry && entry->starts_with(first)) batch.erase_range(first, dynamic_range_end(number));
  }
  if (!batch.empty()) TRY(state_->database.commit(batch));
  const std::lock_guard lock(state_->mutex);
  for (const ListId number : numbers) state_->to_forget.erase(number);
  return {};
}

} // namespace weir::store
