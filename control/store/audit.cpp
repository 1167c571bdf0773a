// Who changed what. Records of a kind have rising numbers without gaps, but for generations that were taken back;
// the oldest go when there are more than are kept.
#include "control/store/state.hpp"

#include <algorithm>

namespace weir::store {

namespace {

constexpr std::uint64_t gaps_seen_past = 64; // generations that were taken back among the newest records

std::string first_name(AuditKind kind) {
  return kind == AuditKind::rules ? "audit_first/rules" : "audit_first/entries";
}
std::string next_name(AuditKind kind) {
  return kind == AuditKind::rules ? "audit_next/rules" : "audit_next/entries";
}

} // namespace

Status Store::State::load_audit() {
  for (const AuditKind kind : {AuditKind::rules, AuditKind::entries}) {
    TRY(read_number(first_name(kind).c_str(), range_of(kind).first));
    TRY(read_number(next_name(kind).c_str(), range_of(kind).next));
  }
  return {};
}

Store::State::AuditRange Store::State::put_audit(Batch &batch, AuditKind kind,
                                                 std::span<const AuditRecord> records) const {
  AuditRange range;
  {
    const std::lock_guard lock(mutex);
    range = range_of(kind);
  }
  if (records.empty()) return range;
  for (const AuditRecord &record : records) batch.put(audit_key(kind, range.next++), encode(record));
  batch.put(meta_key(next_name(kind)), number_text(range.next));
  // In steps, since every range deletion is a burden for later reads.
  const std::uint64_t most = options.audit_max[static_cast<std::size_t>(kind)];
  if (range.next - range.first > most + most / 8) {
    batch.erase_range(audit_key(kind, range.first), audit_key(kind, range.next - most));
    range.first = range.next - most;
    batch.put(meta_key(first_name(kind)), number_text(range.first));
  }
  return range;
}

Status Store::audit(AuditRecord record) {
  const std::lock_guard auditing(state_->auditing_of(AuditKind::rules));
  Batch batch(state_->database);
  const State::AuditRange range = state_->put_audit(batch, AuditKind::rules, {&record, 1});
  TRY(state_->database.commit(batch));
  const std::lock_guard lock(state_->mutex);
  state_->range_of(AuditKind::rules) = range;
  return {};
}

Result<std::vector<AuditRecord>>
Store::audited(std::size_t most, const std::function<bool(const AuditRecord &)> &wanted) const {
  std::vector<AuditRecord> all;
  for (const AuditKind kind : {AuditKind::rules, AuditKind::entries}) {
    State::AuditRange range;
    {
      const std::lock_guard lock(state_->mutex);
      range = state_->range_of(kind);
    }
    if (!wanted)
      range.first = std::max(range.first, range.next - std::min(range.next, most + gaps_seen_past));
    bool good = true;
    TRY(state_->database.scan(Keys::state, audit_key(kind, range.first), audit_key(kind, range.next),
                              [&](std::string_view, std::string_view value) {
                                auto record = decode_audit(value);
                                good = good && record;
                                if (record && (!wanted || wanted(*record))) all.push_back(std::move(*record));
                              }));
    if (!good) return fail(Errc::io, "a record of the audit log cannot be read");
  }
  std::ranges::stable_sort(all, {}, &AuditRecord::at_ms);
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  return all;
}

} // namespace weir::store
