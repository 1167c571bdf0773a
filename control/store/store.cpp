#include "control/store/state.hpp"

#include <sys/random.h>

#include <algorithm>

namespace weir::store {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view store_version = "2"; // 1 had no sums, and gave list numbers for ever

} // namespace

Result<Store> Store::open(const fs::path &folder, Options options) {
  auto database = TRY(Database::open(folder));
  auto state = std::make_unique<State>(std::move(database));
  state->folder = folder;
  state->options = options;
  TRY(state->load());
  return Store(std::move(state));
}

Status Store::State::load() {
  const auto found = TRY(database.get(meta_key("id")));
  if (found) {
    Decoder(*found).raw(id.data(), id.size());
    TRY(read_version());
  } else {
    TRY(create_id());
  }
  for (const auto &[name, value] : {std::pair{"sequence", &sequence}, std::pair{"log_first", &log_first},
                                    std::pair{"next_version", &next_version}})
    TRY(read_number(name, *value));
  for (const auto &[name, value] :
       {std::pair{"live", &live}, std::pair{"next_generation", &next_generation}}) {
    Generation::rep number = value->value();
    TRY(read_number(name, number));
    *value = Generation(number);
  }

  const auto kept = TRY(read_generations());
  TRY(load_contents(kept));
  TRY(load_audit());
  return load_lists(kept);
}

// Leaves what it finds alone when there is nothing of that name.
Status Store::State::read_number(const char *name, std::uint64_t &into) const {
  const auto found = database.get(meta_key(name));
  if (!found) return std::unexpected(found.error());
  if (*found) into = Decoder(**found).u64();
  return {};
}

Status Store::State::read_version() {
  const auto found = TRY(database.get(meta_key("version")));
  const std::string text = found.value_or("");
  has_sums = text != "1";
  if (text == "1" || text == store_version) return {};
  return fail(Errc::io,
              fmt::format("store {}: it is of version {}, and this weir-control reads 1 and {}; take "
                          "the newer weir-control that wrote it",
                          folder.string(), text, store_version));
}

Status Store::State::create_id() {
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    return fail(Errc::io, "no random bytes for a store id");
  Batch batch(database);
  batch.put(meta_key("id"), std::string_view(reinterpret_cast<const char *>(id.data()), id.size()));
  batch.put(meta_key("version"), store_version);
  TRY(database.commit(batch));
  return {};
}

// A store of version 1: what generations refer to is taken as it is, without a sum; numbers of lists are
// those of the generations from now on.
Status Store::State::adopt(const std::set<std::uint64_t> &wanted) {
  Batch batch(database);
  for (const std::uint64_t version : wanted) {
    sums.insert_or_assign(version, ContentSum{});
    batch.put(sum_key(version), encode(ContentSum{}));
  }
  batch.put(meta_key("version"), store_version);
  TRY(database.commit(batch));
  has_sums = true;
  return {};
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store &&) noexcept = default;
Store &Store::operator=(Store &&) noexcept = default;
Store::~Store() = default;

image::StoreId Store::id() const { return state_->id; }
std::uint64_t Store::bytes() const { return state_->database.bytes(); }
bool Store::damaged() const { return state_->database.damaged(); }

Space Store::space() const { return state_->database.space(); }

std::uint64_t Store::sequence() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sequence;
}

Generation Store::live() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live;
}

// ---- dynamic entries and the log ---------------------------------------------------------------

// A large change is written for seconds: whoever asks for the sequence meanwhile hears the one before.
Result<std::uint64_t> Store::write(const DynamicChange &change) {
  const std::lock_guard one_at_a_time(state_->sequencing);
  std::uint64_t last = 0, first = 0;
  {
    const std::lock_guard lock(state_->mutex);
    last = state_->sequence;
    first = state_->log_first;
  }
  Batch batch(state_->database);
  for (const DynamicKey &key : change.erase) batch.erase(dynamic_key(key));
  for (const DynamicEntry &entry : change.put) batch.put(dynamic_key(entry.key), encode(entry));
  std::uint64_t sequence = last;
  last += change.touched.size();
  // Trimmed in steps, since every range deletion is a burden for later reads.
  const std::uint64_t bound = state_->options.log_entries_max;
  if (last + 1 - first > bound + bound / 8) {
    const std::uint64_t kept_from = last + 1 - bound;
    batch.erase_range(log_key(first), log_key(kept_from));
    first = kept_from;
    batch.put(meta_key("log_first"), number_text(first));
  }
  for (const Touched &touched : change.touched)
    if (++sequence >= first)
      batch.put(log_key(sequence),
                Encoder().u8(static_cast<std::uint8_t>(touched.side)).prefix(touched.prefix).text);
  batch.put(meta_key("sequence"), number_text(last));
  const std::lock_guard auditing(state_->auditing_of(AuditKind::entries));
  const State::AuditRange audited = state_->put_audit(batch, AuditKind::entries, change.audit);
  TRY(state_->database.commit(batch));
  const std::lock_guard lock(state_->mutex);
  state_->sequence = last;
  state_->log_first = first;
  state_->range_of(AuditKind::entries) = audited;
  return last;
}

Status Store::read_dynamic(const std::function<void(const DynamicEntry &)> &each) const {
  return state_->database.scan(Keys::state, std::string(1, dynamic_tag),
                               [&](std::string_view key, std::string_view value) {
                                 const auto entry = decode_dynamic(key, value);
                                 if (entry) each(*entry);
                                 return entry.has_value();
                               });
}

Result<std::optional<DynamicEntry>> Store::dynamic_entry(const DynamicKey &key) const {
  const std::string text = dynamic_key(key);
  const auto value = state_->database.get(text);
  if (!value) return std::unexpected(value.error());
  if (!*value) return std::nullopt;
  return decode_dynamic(text, **value);
}

Status Store::read_log(const std::function<void(std::uint64_t, const Touched &)> &each) const {
  std::uint64_t first = 0;
  {
    const std::lock_guard lock(state_->mutex);
    first = state_->log_first;
  }
  return state_->database.scan(Keys::state, std::string(1, log_tag),
                               [&](std::string_view key, std::string_view value) {
                                 Decoder k(key.substr(1)), v(value);
                                 const std::uint64_t sequence = k.u64();
                                 Touched touched;
                                 touched.side = static_cast<Side>(v.u8());
                                 touched.prefix = v.prefix();
                                 if (sequence >= first) each(sequence, touched);
                                 return k.ok() && v.ok();
                               });
}

Status Store::skip_to(std::uint64_t sequence) {
  const std::lock_guard one_at_a_time(state_->sequencing);
  const std::lock_guard lock(state_->mutex);
  if (sequence <= state_->sequence) return {};
  Batch batch(state_->database);
  batch.erase_range(log_key(state_->log_first), log_key(sequence + 1));
  batch.put(meta_key("log_first"), number_text(sequence + 1));
  batch.put(meta_key("sequence"), number_text(sequence));
  TRY(state_->database.commit(batch));
  state_->sequence = sequence;
  state_->log_first = sequence + 1;
  return {};
}

Status Store::set_note(std::string_view name, std::string_view text) {
  Batch batch(state_->database);
  batch.put_or_erase(meta_key("note/" + std::string(name)), text);
  TRY(state_->database.commit(batch));
  return {};
}

std::string Store::note(std::string_view name) const {
  const auto text = state_->database.get(meta_key("note/" + std::string(name)));
  return text ? text->value_or("") : std::string();
}

} // namespace weir::store
