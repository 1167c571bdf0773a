// What a change leaves in the store. The record is written before the dataplane commits and taken back if it
// does not: so a disk that is full or broken refuses the change while nothing has happened yet, and what was
// acknowledged is there after any restart. Nothing that a way back needs is forgotten before the commit.
#include "control/engine/engine.hpp"

#include <fmt/format.h>

namespace weir::control {

namespace {

constexpr auto undo_wait = std::chrono::seconds(1);
constexpr std::size_t audited_lists_max = 20; // named in a record; the others are counted

std::vector<store::ListMeta> metas_of(const RuleSet &rules) {
  std::vector<store::ListMeta> metas;
  for (const RuleList &list : rules.lists)
    metas.push_back({.number = list.number,
                     .name = list.definition.name,
                     .action = list.definition.action,
                     .content_version = list.content_version,
                     .fingerprint = list.fingerprint,
                     .updated_at = list.updated_at,
                     .format = list.format});
  return metas;
}

std::vector<store::FlowsMeta> flow_metas_of(const RuleSet &rules) {
  std::vector<store::FlowsMeta> metas;
  for (const rules::RuleFlows &flows : rules.flows)
    metas.push_back({flows.rule, flows.content_version, flows.fingerprint});
  return metas;
}

} // namespace

store::GenerationRecord Engine::record_of(const Change &change) const {
  store::GenerationRecord record = live_record_;
  record.id = change.generation;
  if (change.image) {
    record.digest = change.image->digest;
    record.plan_json = plan::to_json(change.image->plan);
    record.image_bytes = change.image->identity.bytes;
    record.build_ms = change.image->report.build_ms + change.image->report.verify_ms;
  }
  if (!change.counts_json.empty()) record.counts_json = change.counts_json;
  if (change.has_new_rules()) {
    record.applied_at = now_s();
    record.cause = change.by.empty() ? change.cause : change.cause + " by " + change.by;
    record.config_text = change.rules->config_text;
    record.config_source = change.rules->config.source.string();
    record.lists = metas_of(*change.rules);
    record.flows = flow_metas_of(*change.rules);
  }
  return record;
}

// An image that weir-control made by itself for the same rules is no change that anybody asks about.
std::optional<store::AuditRecord> Engine::audit_of(const Change &change) const {
  if (!change.has_new_rules() && change.by.empty()) return std::nullopt;
  store::AuditRecord record{.at_ms = now_ms(),
                            .by = change.by,
                            .what = change.cause,
                            .list = {},
                            .detail = {},
                            .generation = change.generation};
  if (change.is_revert) record.detail = "the change after it was not confirmed";
  if (change.has_new_rules() && !change.is_rollback) record.detail = change.record.config_source;
  std::size_t told = 0, changed = 0;
  for (const ListDiff &diff : change.candidate.diffs) {
    if (diff.change.added + diff.change.removed == 0) continue;
    if (changed++ == 0) record.list = diff.name;
    if (told == audited_lists_max) continue;
    ++told;
    record.detail += fmt::format("{}{} +{} -{}", record.detail.empty() ? "" : ", ", diff.name,
                                 diff.change.added, diff.change.removed);
  }
  if (changed > 1) record.list.clear();
  if (changed > told) record.detail += fmt::format(", and {} lists more", changed - told);
  if (change.force && !change.is_rollback && change.has_new_rules()) record.detail += ", forced";
  if (change.confirm_s > 0) record.detail += fmt::format(", to be confirmed within {} s", change.confirm_s);
  return record;
}

// An image of rules that are live already is pushed even if its record cannot be written.
Status Engine::record() {
  Change &change = *change_;
  if (change.image) {
    if (change.replaces != 0) change.image->plan.built_for = change.cause;
    change.image->plan.planned_at = now_s();
  }
  change.record = record_of(change);
  std::optional<std::string> note;
  if (change.confirm_s > 0) {
    change.confirm_deadline_s = now_s() + change.confirm_s;
    note = fmt::format("{} {}", live_record_.id, change.confirm_deadline_s);
  } else if (change.is_rollback) {
    note = "";
  }
  const Status written = store_.make_live(change.record, note, audit_of(change));
  if (!written && change.has_new_rules()) return written;
  if (!written) last_error_ = written.error().message;
  change.recorded = written.has_value();
  return {};
}

// The change at hand has failed after record(). One that only said more about the live generation may stand.
void Engine::take_back() {
  change_->recorded = false;
  if (change_->generation == live_record_.id) return;
  undone_.insert(change_->generation);
  take_back_undone();
}

// A store that cannot be written now is asked again: until then a restart would bring up what was refused.
void Engine::take_back_undone() {
  // The record of a change at hand is the live one in the store, and replaces what was to be taken back.
  const bool at_hand = change_ != nullptr && change_->recorded;
  std::erase_if(undone_, [&](Generation generation) {
    if (at_hand) return false;
    const Status back = store_.take_back(generation, live_record_, unconfirmed());
    if (!back) last_error_ = back.error().message;
    return back.has_value();
  });
  loop_.cancel(undo_timer_);
  undo_timer_ = 0;
  if (undone_.empty()) return;
  undo_timer_ = loop_.after(undo_wait, [this] {
    undo_timer_ = 0;
    take_back_undone();
  });
}

void Engine::go_live(bool in_force) {
  Change &change = *change_;
  const bool new_rules = change.has_new_rules();
  const Generation before = live_record_.id;
  live_ = change.rules;
  staged_.reset();
  if (change.record.id != 0) live_record_ = std::move(change.record);
  if (new_rules) keep_off_workers();
  if (change.candidate.offender_model) offenders_.take_up(*change.candidate.offender_model);
  if (change.image) {
    const build::BuildReport &report = change.image->report;
    constexpr std::uint64_t keys_that_tell = 10'000;
    if (report.keys_verified >= keys_that_tell)
      build_ns_per_key_ =
          (report.build_ms + report.verify_ms) * 1e6 / static_cast<double>(report.keys_verified);
    begin_watches(change.image->plan);
  }
  if (new_rules && !change.is_rollback) account_for_change();
  change.result.generation = live_record_.id;
  if (change.to != 0) {
    change.result.from = before;
    change.result.to = change.to;
  }
  change.result.in_force = in_force;
  change.result.live_ms = push::ms_since(change.started);
  pusher_.expect(store_.id(), live_record_.id);
  ready_.reset();
  if (!in_force && change.image && change.image->fd.get() >= 0) ready_ = std::move(change.image);
  if (change.is_rollback) end_confirm();
  if (change.confirm_s > 0) {
    start_confirm(before, change.confirm_deadline_s);
    change.result.reverts_at = change.confirm_deadline_s;
  }
  change.recorded = false; // it is beyond being taken back
  if (!undone_.empty()) take_back_undone();
  prune();
  finish(std::nullopt);
}

// A rollback is somebody's own doing and gives nothing back: what was spent stays spent.
void Engine::account_for_change() {
  auto spent = std::make_shared<rules::ChangeAccount>(*spent_);
  const std::uint64_t now = clock_.now_s();
  account(*spent, change_->candidate.diffs, change_->force, now);
  const std::string note = spent->note(now);
  spent_ = std::move(spent);
  if (note == store_.note(changes_note)) return;
  if (const Status noted = store_.set_note(changes_note, note); !noted)
    change_->result.warnings.push_back(fmt::format(
        "what this change takes of max_change could not be written, and a restart would forget it: {}",
        noted.error().message));
}

// What cannot be forgotten now is forgotten after the next change.
void Engine::prune() {
  if (const Status pruned = store_.prune(live_->config.generations_kept, pinned(), change_->replaces);
      !pruned)
    last_error_ = pruned.error().message;
  forget_left_lists();
}

std::set<Generation> Engine::pinned() const {
  std::set<Generation> generations;
  for (const Change &change : waiting_)
    if (change.is_rollback && change.to != 0) generations.insert(change.to);
  if (revert_to_ != 0) generations.insert(revert_to_);
  return generations;
}

// Between two groups of entries: one under way may be for a list that has just left.
void Engine::forget_left_lists() {
  entries_.at_rest([this] {
    const std::vector<ListId> numbers = store_.numbers_to_forget();
    if (numbers.empty()) return;
    if (const Status forgotten = store_.forget_dynamic(numbers); !forgotten) {
      last_error_ = forgotten.error().message;
      return;
    }
    for (const ListId number : numbers) dynamic_.drop(number);
  });
}

} // namespace weir::control
