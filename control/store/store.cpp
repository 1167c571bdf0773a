#include "control/store/state.hpp"

#include <rocksdb/convenience.h>
#include <rocksdb/table.h>
#include <sys/random.h>

#include <algorithm>

namespace weir::store {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view store_version = "2"; // 1 had no sums, and gave list numbers for ever

// Contents are written once and read in order or by single keys that are known to exist: large
// blocks, no filters.
rocksdb::ColumnFamilyOptions content_options() {
  rocksdb::ColumnFamilyOptions options;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 32 * 1024;
  table.format_version = 5;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto supported = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::find(supported.begin(), supported.end(), rocksdb::kLZ4Compression) != supported.end();
  options.compression = lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  return options;
}

} // namespace

Result<Store> Store::open(const fs::path &folder, Options options) {
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->options = options;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Errc::io, fmt::format("store {}: cannot be created: {}", folder.string(), error.message()));

  rocksdb::ColumnFamilyOptions state_options;
  state_options.write_buffer_size = 4 * write_buffer_bytes; // emptied before: keep_a_record_in_memory()
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, state_options}, {"contents", content_options()}};
  std::vector<rocksdb::ColumnFamilyHandle *> handles;
  rocksdb::DB *db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::Open(database_options(), folder.string(), families, &handles, &db);
  if (!opened.ok()) return state->io("cannot be opened (is another weir-control running?)", opened);
  state->db.reset(db);
  state->state = handles[0];
  state->entries = handles[1];
  if (const Status loaded = state->load(); !loaded) return std::unexpected(loaded.error());
  return Store(std::move(state));
}

Status Store::State::load() {
  std::string text;
  const rocksdb::Status found = db->Get({}, state, meta_key("id"), &text);
  if (found.IsNotFound()) {
    if (const Status created = create_id(); !created) return created;
  } else if (!found.ok()) {
    return io("reading", found);
  } else {
    Decoder(text).raw(id.data(), id.size());
    if (const Status known = read_version(); !known) return known;
  }
  for (const auto &[name, value] :
       {std::pair{"sequence", &sequence}, std::pair{"log_first", &log_first}, std::pair{"live", &live},
        std::pair{"next_generation", &next_generation}, std::pair{"next_version", &next_version}})
    if (const Status read = read_number(name, *value); !read) return read;

  // What a killed process left half done.
  std::error_code ignored;
  fs::remove_all(ingest_folder(), ignored);
  fs::create_directories(ingest_folder(), ignored);
  const auto kept = read_generations();
  if (!kept) return std::unexpected(kept.error());
  if (const Status read = load_contents(*kept); !read) return read;
  return load_lists(*kept);
}

// Leaves what it finds alone when there is nothing of that name.
Status Store::State::read_number(const char *name, std::uint64_t &into) const {
  std::string text;
  const rocksdb::Status found = db->Get({}, state, meta_key(name), &text);
  if (found.ok()) into = Decoder(text).u64();
  if (!found.ok() && !found.IsNotFound()) return io("reading", found);
  return {};
}

Status Store::State::read_version() {
  std::string text;
  const rocksdb::Status found = db->Get({}, state, meta_key("version"), &text);
  if (!found.ok()) return io("reading its version", found);
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
  rocksdb::WriteBatch batch;
  batch.Put(state, meta_key("id"), rocksdb::Slice(reinterpret_cast<const char *>(id.data()), id.size()));
  batch.Put(state, meta_key("version"), rocksdb::Slice(store_version.data(), store_version.size()));
  const rocksdb::Status written = commit(batch);
  if (!written.ok()) return io("writing", written);
  return {};
}

// A store of version 1: what generations refer to is taken as it is, without a sum; numbers of lists are
// those of the generations from now on.
Status Store::State::adopt(const std::set<std::uint64_t> &wanted) {
  rocksdb::WriteBatch batch;
  for (const std::uint64_t version : wanted) {
    sums.insert_or_assign(version, ContentSum{});
    batch.Put(state, sum_key(version), encode(ContentSum{}));
  }
  batch.Put(state, meta_key("version"), rocksdb::Slice(store_version.data(), store_version.size()));
  const rocksdb::Status written = commit(batch);
  if (!written.ok()) return io("writing", written);
  has_sums = true;
  return {};
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store &&) noexcept = default;
Store &Store::operator=(Store &&) noexcept = default;
Store::~Store() = default;

image::StoreId Store::id() const { return state_->id; }

std::uint64_t Store::sequence() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sequence;
}

std::uint64_t Store::live() const {
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
  rocksdb::WriteBatch batch;
  for (const DynamicKey &key : change.erase) batch.Delete(state_->state, dynamic_key(key));
  for (const DynamicEntry &entry : change.put)
    batch.Put(state_->state, dynamic_key(entry.key), encode(entry));
  std::uint64_t sequence = last;
  last += change.touched.size();
  // Trimmed in steps, since every range deletion is a burden for later reads.
  const std::uint64_t bound = state_->options.log_entries_max;
  if (last + 1 - first > bound + bound / 8) {
    const std::uint64_t kept_from = last + 1 - bound;
    batch.DeleteRange(state_->state, log_key(first), log_key(kept_from));
    first = kept_from;
    batch.Put(state_->state, meta_key("log_first"), number_text(first));
  }
  for (const Touched &touched : change.touched)
    if (++sequence >= first)
      batch.Put(state_->state, log_key(sequence),
                Encoder().u8(static_cast<std::uint8_t>(touched.side)).prefix(touched.prefix).text);
  batch.Put(state_->state, meta_key("sequence"), number_text(last));
  const rocksdb::Status written = state_->commit(batch);
  if (!written.ok()) return state_->io("writing", written);
  const std::lock_guard lock(state_->mutex);
  state_->sequence = last;
  state_->log_first = first;
  return last;
}

Status Store::read_dynamic(const std::function<void(const DynamicEntry &)> &each) const {
  return state_->scan(state_->state, std::string(1, dynamic_tag),
                      [&](const rocksdb::Slice &key, const rocksdb::Slice &value) {
                        const auto entry = decode_dynamic(view(key), view(value));
                        if (entry) each(*entry);
                        return entry.has_value();
                      });
}

Result<std::optional<DynamicEntry>> Store::dynamic_entry(const DynamicKey &key) const {
  const std::string text = dynamic_key(key);
  std::string value;
  const rocksdb::Status found = state_->db->Get({}, state_->state, text, &value);
  if (found.IsNotFound()) return std::nullopt;
  if (!found.ok()) return state_->io("reading", found);
  return decode_dynamic(text, value);
}

Status Store::read_log(const std::function<void(std::uint64_t, const Touched &)> &each) const {
  std::uint64_t first = 0;
  {
    const std::lock_guard lock(state_->mutex);
    first = state_->log_first;
  }
  return state_->scan(state_->state, std::string(1, log_tag),
                      [&](const rocksdb::Slice &key, const rocksdb::Slice &value) {
                        Decoder k({key.data() + 1, key.size() - 1}), v({value.data(), value.size()});
                        const std::uint64_t sequence = k.u64();
                        Touched touched;
                        touched.side = static_cast<image::Side>(v.u8());
                        touched.prefix = v.prefix();
                        if (sequence >= first) each(sequence, touched);
                        return k.ok() && v.ok();
                      });
}

Status Store::skip_to(std::uint64_t sequence) {
  const std::lock_guard one_at_a_time(state_->sequencing);
  const std::lock_guard lock(state_->mutex);
  if (sequence <= state_->sequence) return {};
  rocksdb::WriteBatch batch;
  batch.DeleteRange(state_->state, log_key(state_->log_first), log_key(sequence + 1));
  batch.Put(state_->state, meta_key("log_first"), number_text(sequence + 1));
  batch.Put(state_->state, meta_key("sequence"), number_text(sequence));
  const rocksdb::Status written = state_->commit(batch);
  if (!written.ok()) return state_->io("writing", written);
  state_->sequence = sequence;
  state_->log_first = sequence + 1;
  return {};
}

Status Store::set_note(std::string_view name, std::string_view text) {
  rocksdb::WriteBatch batch;
  state_->put_or_delete(batch, meta_key("note/" + std::string(name)), text);
  const rocksdb::Status written = state_->commit(batch);
  if (!written.ok()) return state_->io("writing", written);
  return {};
}

std::string Store::note(std::string_view name) const {
  std::string text;
  (void)state_->db->Get({}, state_->state, meta_key("note/" + std::string(name)), &text);
  return text;
}

} // namespace weir::store
