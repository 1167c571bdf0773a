#include "control/engine/candidate.hpp"

#include "control/base/progress.hpp"
#include "control/rules/bundled_feed.hpp"
#include "control/rules/comment.hpp"
#include "control/rules/embedded.hpp"
#include "weir/base/hash.hpp"
#include "weir/config/groups.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string_view>
#include <utility>

namespace weir::control {

namespace {

const std::shared_ptr<const ListBody> &empty_body() {
  static const auto body = std::make_shared<const ListBody>();
  return body;
}

template <class T> void hash_in(XXH3_state_t *state, const std::vector<T> &items) {
  const std::uint64_t size = items.size();
  XXH3_64bits_update(state, &size, sizeof size);
  XXH3_64bits_update(state, items.data(), items.size() * sizeof(T));
}

std::uint64_t fingerprint_of(const rules::ListContent &content) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  hash_in(&state, content.v4);
  hash_in(&state, content.v6);
  hash_in(&state, content.notes_v4);
  hash_in(&state, content.notes_v6);
  XXH3_64bits_update(&state, content.comments.data(), content.comments.size());
  return XXH3_64bits_digest(&state);
}

rules::ListSource source_of(const ListBody &body) {
  rules::ListSource source;
  source.v4 = body.v4;
  source.v6 = body.v6;
  return source;
}

void warn_about(const std::string &name, const rules::ListContent &content,
                std::vector<std::string> &warnings) {
  if (content.skipped_count > 0)
    warnings.push_back(fmt::format("list {}: {} bad lines were left out", name, content.skipped_count));
  if (content.duplicates > 0)
    warnings.push_back(fmt::format("list {}: {} duplicates were dropped", name, content.duplicates));
  if (content.comments_cut > 0)
    warnings.push_back(fmt::format("list {}: {} comments were cut to {} bytes", name, content.comments_cut,
                                   rules::comment_bytes_max));
  std::uint64_t timed = 0;
  for (const auto &note : content.notes_v4) timed += note.ttl_s != 0;
  for (const auto &note : content.notes_v6) timed += note.ttl_s != 0;
  if (timed > 0)
    warnings.push_back(fmt::format(
        "list {}: {} entries carry a timeout; what a file says stays until the next reload", name, timed));
}

// Enters what a file said, or what the store has already when that is the same.
void take_content(Candidate &candidate, std::size_t index, rules::ListContent content,
                  const std::filesystem::path &file, const RuleList *before, const store::Store &store) {
  RuleList &list = candidate.rules->lists[index];
  warn_about(list.definition.name, content, candidate.warnings);
  if (std::string told = rules::embedded_text(list.definition, rules::embedded_in(content)); !told.empty())
    candidate.warnings.push_back(std::move(told));
  if (list.definition.mapped_both) rules::expand_embedded(content);
  list.fingerprint = fingerprint_of(content);
  if (!list.definition.file.empty()) list.format = config::name_of(content.format);
  if (before != nullptr && before->fingerprint == list.fingerprint &&
      store.has_content(before->content_version)) {
    list.content_version = before->content_version;
    list.updated_at = before->updated_at;
    list.body = before->body;
    candidate.diffs.push_back({.name = list.definition.name, .change = {}, .file = file});
    rules::ListChange &none = candidate.diffs.back().change;
    none.before = none.after = list.body->size();
    none.covered_before = none.covered_after = list.body->covered;
    return;
  }
  auto body = std::make_shared<ListBody>();
  body->v4 = std::move(content.v4);
  body->v6 = std::move(content.v6);
  body->count();
  const bool first_load = before == nullptr || before->content_version == 0;
  candidate.diffs.push_back(
      {.name = list.definition.name,
       .first_load = first_load,
       .change = rules::change_of(source_of(before ? *before->body : *empty_body()), source_of(*body)),
       .file = file});
  list.content_version = 0;
  list.updated_at = now_s();
  list.body = std::move(body);
  candidate.unwritten.push_back({index, std::make_shared<const rules::ListContent>(std::move(content))});
}

Status number_lists(Candidate &candidate, const RuleSet *live, const store::Store &store) {
  std::vector<RuleList *> fresh;
  for (RuleList &list : candidate.rules->lists) {
    const RuleList *before = live ? live->find(list.definition.name) : nullptr;
    if (before != nullptr && before->definition.action == list.definition.action)
      list.number = before->number;
    else
      fresh.push_back(&list);
  }
  const auto numbers = TRY(store.free_numbers(fresh.size()));
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i]->number = (numbers)[i];
  return {};
}

void find_left(Candidate &candidate, const RuleSet *live) {
  if (live == nullptr) return;
  std::map<std::string_view, const RuleList *> now;
  for (const RuleList &list : candidate.rules->lists) now.emplace(list.definition.name, &list);
  for (const RuleList &was : live->lists) {
    const auto same = now.find(was.definition.name);
    if (same != now.end() && same->second->number == was.number) continue;
    const bool turned = same != now.end() && same->second->definition.action != was.definition.action;
    candidate.left.push_back({was.definition.name, was.number, was.definition.action, turned});
  }
}

// Enters what the file of a packet rule said, or what the store has already when that is the same.
void take_flows(Candidate &candidate, const config::PacketRule &rule, rules::FlowBody body,
                const RuleSet *live, const store::Store &store) {
  if (body.duplicates > 0)
    candidate.warnings.push_back(
        fmt::format("rule {}: {} flows that stand there twice were dropped", rule.name, body.duplicates));
  rules::RuleFlows flows{.rule = rule.name, .fingerprint = body.fingerprint(), .body = nullptr};
  const rules::RuleFlows *before = live != nullptr ? live->flows_of(rule.name) : nullptr;
  if (before != nullptr && before->fingerprint == flows.fingerprint &&
      store.has_content(before->content_version)) {
    flows.content_version = before->content_version;
    flows.body = before->body;
  } else {
    flows.body = std::make_shared<const rules::FlowBody>(std::move(body));
    candidate.unwritten_flows.push_back(candidate.rules->flows.size());
  }
  candidate.rules->flows.push_back(std::move(flows));
}

Result<std::shared_ptr<const rules::FlowBody>> load_flow_body(const store::FlowsMeta &meta,
                                                              const store::Store &store) {
  auto body = std::make_shared<rules::FlowBody>();
  const Status read = store.read_bytes(meta.content_version,
                                       [&](std::string_view bytes) { return rules::add_flow(*body, bytes); });
  if (!read) return fail(read.error().code, fmt::format("rule {}: {}", meta.rule, read.error().message));
  return std::shared_ptr<const rules::FlowBody>(std::move(body));
}

Status restore_flows(Candidate &candidate, const store::GenerationRecord &record, const RuleSet *live,
                     const store::Store &store) {
  for (const config::PacketRule &rule : candidate.rules->config.rules) {
    if (rule.file.empty()) continue;
    const auto meta = std::ranges::find(record.flows, rule.name, &store::FlowsMeta::rule);
    if (meta == record.flows.end())
      return fail(Errc::io,
                  fmt::format("generation {}: the store's record does not have the flows of rule {}",
                              record.id, rule.name));
    const rules::RuleFlows *before = live != nullptr ? live->flows_of(rule.name) : nullptr;
    const bool same = before != nullptr && before->content_version == meta->content_version;
    candidate.rules->flows.push_back({.rule = rule.name,
                                      .content_version = meta->content_version,
                                      .fingerprint = meta->fingerprint,
                                      .body = same ? before->body : TRY(load_flow_body(*meta, store))});
  }
  return {};
}

Result<std::shared_ptr<const ListBody>> load_body(const RuleList &list, const store::Store &store,
                                                  Progress *progress) {
  const std::uint64_t version = list.content_version;
  if (version == 0) return empty_body();
  auto body = std::make_shared<ListBody>();
  // Room that is not used is not memory yet; a list that grows is there twice for a moment.
  constexpr std::uint64_t reserved_max = std::uint64_t{1} << 28;
  body->v4.reserve(std::min(store.content_entries(version), reserved_max));
  constexpr std::uint64_t entries_at_once = 1 << 16;
  std::uint64_t untold = 0;
  const Status read = store.read_content(version, [&](const Prefix &prefix, std::string_view) {
    if (progress != nullptr && ++untold == entries_at_once)
      progress->add(entries_at_once, std::exchange(untold, 0));
    if (prefix.family() == Family::ipv4)
      body->v4.push_back(rules::to_entry_v4(prefix));
    else
      body->v6.push_back(rules::to_entry_v6(prefix));
  });
  if (!read)
    return fail(read.error().code, fmt::format("list {}: {}", list.definition.name, read.error().message));
  if (progress != nullptr) progress->add(untold, untold);
  body->count();
  return std::shared_ptr<const ListBody>(std::move(body));
}

} // namespace

std::uint64_t now_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

std::uint64_t now_s() { return now_ms() / 1000; }

Result<std::string> read_text(const std::filesystem::path &file, const rules::Bundle *files) {
  if (files != nullptr) {
    const auto text = files->find(file);
    if (!text) return fail(Errc::usage, fmt::format("{}: it did not come with the request", file.string()));
    return std::string(*text);
  }
  return config::read(file);
}

Result<Candidate> read_candidate(const config::Config &config, std::string config_text, const RuleSet *live,
                                 store::Store &store, const rules::Bundle *files, Progress *progress) {
  if (progress != nullptr) {
    std::uint64_t bytes = 0;
    for (const config::List &definition : config.lists) bytes += rules::bytes_of(definition, files);
    progress->begin(Progress::Phase::reading, bytes);
  }
  Candidate candidate;
  candidate.rules = std::make_shared<RuleSet>();
  candidate.rules->config = config;
  candidate.rules->config_text = std::move(config_text);
  Error faults{Errc::parse, ""};
  for (const config::List &definition : config.lists) {
    candidate.rules->lists.push_back({.definition = definition, .body = empty_body()});
    auto content = rules::load_list(definition, files, progress);
    if (!content) {
      if (!faults.message.empty()) faults.message += '\n';
      faults.code = content.error().code;
      faults.message += content.error().message;
      continue;
    }
    const RuleList *before = live ? live->find(definition.name) : nullptr;
    take_content(candidate, candidate.rules->lists.size() - 1, std::move(*content), definition.file, before,
                 store);
  }
  for (const config::PacketRule &rule : config.rules) {
    if (rule.file.empty()) continue;
    auto body = rules::load_flows(rule.file, files);
    if (body) {
      take_flows(candidate, rule, std::move(*body), live, store);
      continue;
    }
    if (!faults.message.empty()) faults.message += '\n';
    faults.code = body.error().code;
    faults.message += body.error().message;
  }
  if (auto model = offenders::load_model_file(config, files)) {
    candidate.offender_model = std::move(*model);
  } else {
    if (!faults.message.empty()) faults.message += '\n';
    faults.code = model.error().code;
    faults.message += model.error().message;
  }
  if (!faults.message.empty()) return std::unexpected(std::move(faults));
  TRY(number_lists(candidate, live, store));
  find_left(candidate, live);
  candidate.rules->make_sources(store.never_deny_number());
  return candidate;
}

Result<Candidate> replace_candidate(const RuleSet &live, const std::string &list,
                                    const std::filesystem::path &file, store::Store &store,
                                    const rules::Bundle *files, Progress *progress) {
  const RuleList *before = live.find(list);
  if (before == nullptr) return fail(Errc::not_found, fmt::format("no list is named {}", list));
  config::List said = before->definition;
  said.file = file;
  if (progress != nullptr) progress->begin(Progress::Phase::reading, rules::bytes_of(said, files));
  auto content = TRY(rules::load_feed(
      file, {.format = said.format, .on_error = said.on_error, .progress = progress}, files));
  if (before->definition.mapped_both) rules::expand_embedded(content);
  Candidate candidate;
  candidate.rules = std::make_shared<RuleSet>();
  candidate.rules->config = live.config;
  candidate.rules->config_text = live.config_text;
  candidate.rules->lists = live.lists;
  candidate.rules->flows = live.flows;
  take_content(candidate, static_cast<std::size_t>(before - live.lists.data()), std::move(content), file,
               before, store);
  candidate.rules->make_sources(store.never_deny_number());
  return candidate;
}

Result<Candidate> restore_candidate(const store::GenerationRecord &record, const RuleSet *live,
                                    store::Store &store, Progress *progress) {
  auto config = config::parse(record.config_text, record.config_source);
  if (!config) return std::unexpected(config.error());
  Candidate candidate;
  candidate.rules = std::make_shared<RuleSet>();
  candidate.rules->config = std::move(*config);
  candidate.rules->config_text = record.config_text;
  if (progress != nullptr) {
    std::uint64_t entries = 0;
    for (const store::ListMeta &meta : record.lists) entries += store.content_entries(meta.content_version);
    progress->begin(Progress::Phase::restoring, entries);
  }
  std::map<std::string_view, const store::ListMeta *> metas;
  for (const store::ListMeta &meta : record.lists) metas.emplace(meta.name, &meta);
  for (const config::List &definition : candidate.rules->config.lists) {
    const auto meta = metas.find(definition.name);
    if (meta == metas.end())
      return fail(Errc::io, fmt::format("generation {}: the store's record does not name list {}", record.id,
                                        definition.name));
    RuleList list{.definition = definition,
                  .number = meta->second->number,
                  .content_version = meta->second->content_version,
                  .fingerprint = meta->second->fingerprint,
                  .updated_at = meta->second->updated_at,
                  .format = meta->second->format,
                  .body = empty_body()};
    const RuleList *before = live ? live->find(definition.name) : nullptr;
    if (before != nullptr && before->content_version == list.content_version) {
      list.body = before->body;
    } else {
      auto body = TRY(load_body(list, store, progress));
      list.body = std::move(body);
    }
    if (live != nullptr)
      candidate.diffs.push_back({.name = definition.name,
                                 .first_load = before == nullptr,
                                 .change = rules::change_of(source_of(before ? *before->body : *empty_body()),
                                                            source_of(*list.body))});
    candidate.rules->lists.push_back(std::move(list));
  }
  TRY(restore_flows(candidate, record, live, store));
  find_left(candidate, live);
  candidate.rules->make_sources(store.never_deny_number());
  return candidate;
}

Result<std::vector<std::string>>
check_left(const Candidate &candidate, const std::function<std::uint64_t(ListId)> &entries_of, bool force) {
  std::vector<std::string> warnings;
  std::string refusals;
  for (const LeftList &left : candidate.left) {
    const std::uint64_t entries = entries_of(left.number);
    if (entries == 0) continue;
    if (left.turned && left.action == Side::deny && !force) {
      refusals += fmt::format("{}list {} turns from deny to allow and holds {} entries that were added by "
                              "hand: they would be denied no more; take them out first, or force the change",
                              refusals.empty() ? "" : "\n", left.name, entries);
      continue;
    }
    warnings.push_back(fmt::format("list {} {}: {} entries that were added by hand went with it, and come "
                                   "back with a rollback alone",
                                   left.name,
                                   !left.turned                ? "is gone"
                                   : left.action == Side::deny ? "turned from deny to allow"
                                                               : "turned from allow to deny",
                                   entries));
  }
  if (!refusals.empty()) return fail(Errc::refused, std::move(refusals));
  return warnings;
}

plan::ListsMemory memory_of(const Candidate &candidate, const RuleSet *live, std::uint64_t dynamic_bytes,
                            bool came_along) {
  plan::ListsMemory memory{.lists_bytes = candidate.rules->bytes_beside(nullptr) + dynamic_bytes,
                           .replaced_bytes = live != nullptr ? live->bytes_beside(candidate.rules.get()) : 0};
  std::uint64_t read = dynamic_bytes; // before the list at hand
  for (const Candidate::Unwritten &unwritten : candidate.unwritten) {
    const rules::ListContent &said = *unwritten.notes;
    const std::uint64_t body = candidate.rules->lists[unwritten.list].body->bytes();
    const std::uint64_t notes = said.notes_v4.size() * sizeof said.notes_v4[0] +
                                said.notes_v6.size() * sizeof said.notes_v6[0] + said.comments.size();
    // Plain text is gone when its entries are sorted, which takes a second copy of them; other text is not.
    const bool goes =
        !came_along && (said.format == config::Format::plain || said.format == config::Format::spamhaus_text);
    const std::uint64_t highest =
        goes ? std::max(said.bytes, 2 * body + notes) : said.bytes + 2 * body + notes;
    memory.reading_bytes = std::max(memory.reading_bytes, read + highest);
    memory.notes_bytes += notes;
    read += body + notes + (came_along ? said.bytes : 0);
  }
  return memory;
}

namespace {

// Entries and notes stand in the same order, and not every entry has a note.
template <class Entry>
Status write_family(store::ContentWriter &writer, const std::vector<Entry> &entries,
                    const std::vector<rules::Note<Entry>> &notes, const std::string &comments) {
  auto note = notes.begin();
  for (const Entry &entry : entries) {
    while (note != notes.end() && rules::before(note->entry, entry)) ++note;
    const bool noted = note != notes.end() && rules::same_prefix(note->entry, entry);
    const std::string_view comment = noted ? std::string_view(comments.c_str() + note->comment_place) : "";
    if (const Status added = writer.add(rules::to_prefix(entry), comment); !added) return added;
  }
  return {};
}

} // namespace

Result<std::vector<std::uint64_t>> write_contents(const Candidate &candidate, store::Store &store) {
  std::vector<std::uint64_t> versions;
  auto writer = TRY(store.begin_contents());
  for (const Candidate::Unwritten &unwritten : candidate.unwritten) {
    const RuleList &list = candidate.rules->lists[unwritten.list];
    const rules::ListContent &notes = *unwritten.notes;
    versions.push_back(writer.begin_version());
    Status written = write_family(writer, list.body->v4, notes.notes_v4, notes.comments);
    if (written) written = write_family(writer, list.body->v6, notes.notes_v6, notes.comments);
    if (!written) return std::unexpected(written.error());
  }
  for (const std::size_t at : candidate.unwritten_flows) {
    const rules::FlowBody &body = *candidate.rules->flows[at].body;
    versions.push_back(writer.begin_version());
    for (const image::FlowV4 &flow : body.v4) TRY(writer.add(rules::flow_bytes(flow)));
    for (const image::FlowV6 &flow : body.v6) TRY(writer.add(rules::flow_bytes(flow)));
  }
  TRY(writer.finish());
  return versions;
}

void enter_versions(Candidate &candidate, const std::vector<std::uint64_t> &versions) {
  const std::size_t lists = candidate.unwritten.size();
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (i < lists)
      candidate.rules->lists[candidate.unwritten[i].list].content_version = versions[i];
    else
      candidate.rules->flows[candidate.unwritten_flows[i - lists]].content_version = versions[i];
}

} // namespace weir::control
