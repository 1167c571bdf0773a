#include "control/store/state.hpp"

#include <algorithm>

namespace weir::store {

Result<Generation> Store::take_generation_number(Generation above) {
  const std::lock_guard lock(state_->mutex);
  const Generation id = std::max(state_->next_generation, above.next());
  TRY(state_->database.put(meta_key("next_generation"), number_text(id.next().value())));
  state_->next_generation = id.next();
  return id;
}

namespace {

constexpr const char *unconfirmed_note = "note/unconfirmed";
constexpr std::size_t undoable_max =
    64; // generations whose record of the audit log goes when they are taken back

// Takes what goes from `kept`, oldest first; returns their numbers.
std::vector<Generation> make_room(std::vector<GenerationRecord> &kept, unsigned keep,
                                  const std::set<Generation> &staying, Generation replaced) {
  std::vector<Generation> gone;
  const auto take = [&](const auto &goes) {
    std::erase_if(kept, [&](const GenerationRecord &g) {
      if (staying.contains(g.id) || !goes(g)) return false;
      gone.push_back(g.id);
      return true;
    });
  };
  take([&](const GenerationRecord &g) { return g.id == replaced; });
  const std::size_t newest = std::max(keep, 1u);
  const Generation oldest_kept = kept.size() > newest ? kept[kept.size() - newest].id : Generation();
  take([&](const GenerationRecord &g) { return g.id < oldest_kept; });
  return gone;
}

} // namespace

Status Store::make_live(const GenerationRecord &record, const std::optional<std::string> &unconfirmed,
                        const std::optional<AuditRecord> &audit) {
  const std::lock_guard auditing(state_->auditing_of(AuditKind::rules));
  Batch batch(state_->database);
  const State::AuditRange audited =
      state_->put_audit(batch, AuditKind::rules, {audit ? &*audit : nullptr, audit ? 1u : 0u});
  batch.put(generation_key(record.id), encode(record));
  batch.put(meta_key("live"), number_text(record.id.value()));
  if (unconfirmed) batch.put_or_erase(meta_key(unconfirmed_note), *unconfirmed);
  {
    const std::lock_guard lock(state_->mutex);
    batch.put(meta_key("next_version"), number_text(state_->next_version));
    record.for_each_version([&](std::uint64_t version) {
      if (const auto sum = state_->sums.find(version);
          sum != state_->sums.end() && state_->being_written.contains(version))
        batch.put(sum_key(version), encode(sum->second));
    });
  }
  TRY(state_->database.commit(batch));
  const std::lock_guard lock(state_->mutex);
  state_->live = record.id;
  state_->range_of(AuditKind::rules) = audited;
  if (audit) state_->audit_of.insert_or_assign(record.id, audited.next - 1);
  if (state_->audit_of.size() > undoable_max) state_->audit_of.erase(state_->audit_of.begin());
  record.for_each_version([this](std::uint64_t version) { state_->being_written.erase(version); });
  for (const ListMeta &l : record.lists) state_->taken.set(l.number.value());
  return {};
}

Status Store::take_back(Generation undone, const GenerationRecord &before, const std::string &unconfirmed) {
  Batch batch(state_->database);
  if (undone != before.id) {
    batch.erase(generation_key(undone));
    const std::lock_guard lock(state_->mutex);
    if (const auto audited = state_->audit_of.find(undone); audited != state_->audit_of.end())
      batch.erase(audit_key(AuditKind::rules, audited->second));
  }
  if (before.id != 0) batch.put(generation_key(before.id), encode(before));
  batch.put(meta_key("live"), number_text(before.id.value()));
  batch.put_or_erase(meta_key(unconfirmed_note), unconfirmed);
  TRY(state_->database.commit(batch));
  {
    const std::lock_guard lock(state_->mutex);
    state_->live = before.id;
    state_->audit_of.erase(undone);
  }
  return state_->drop_unnamed();
}

Status Store::prune(unsigned keep, const std::set<Generation> &pinned, Generation replaced) {
  auto kept = TRY(state_->read_generations());
  std::set<Generation> staying = pinned;
  staying.insert(live());
  Batch batch(state_->database);
  for (const Generation id : make_room(kept, keep, staying, replaced)) batch.erase(generation_key(id));
  if (batch.empty()) return {};
  TRY(state_->database.commit(batch));
  return state_->drop_unnamed();
}

// Contents and numbers that no kept generation names any more.
Status Store::State::drop_unnamed() {
  const auto kept = TRY(read_generations());
  {
    const std::lock_guard lock(mutex);
    take_numbers(kept);
  }
  const std::vector<std::uint64_t> dropped = unreferenced(kept);
  if (dropped.empty()) return {};
  Batch batch(database);
  for (const std::uint64_t version : dropped) batch.erase(sum_key(version));
  TRY(database.commit(batch));
  drop_versions(dropped);
  return {};
}

Result<std::vector<GenerationRecord>> Store::generations() const { return state_->read_generations(); }

Result<std::vector<GenerationRecord>> Store::State::read_generations() const {
  std::vector<GenerationRecord> all;
  TRY(database.scan(Keys::state, std::string(1, generation_tag),
                    [&](std::string_view, std::string_view value) {
                      auto record = decode_generation(value);
                      if (record) all.push_back(std::move(*record));
                      return record.has_value();
                    }));
  return all;
}

} // namespace weir::store
