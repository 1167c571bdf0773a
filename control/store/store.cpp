#include "control/store/store.hpp"

#include "control/store/records.hpp"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace weir::store {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view store_version = "1";

std::string_view view(const rocksdb::Slice &slice) { return {slice.data(), slice.size()}; }

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

rocksdb::WriteOptions synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

} // namespace

struct Store::State {
  fs::path folder;
  Options options;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle *entries = nullptr; // what files said
  rocksdb::ColumnFamilyHandle *state = nullptr;   // everything else

  mutable std::mutex mutex; // guards what follows
  image::StoreId id{};
  std::uint64_t sequence = 0, log_first = 1, live = 0;
  std::uint64_t next_generation = 1, next_version = 1;
  std::map<std::string, std::uint16_t> numbers;
  std::set<std::uint64_t> being_written; // versions that no generation refers to yet, but one will

  ~State() {
    if (!db) return;
    db->DestroyColumnFamilyHandle(entries);
    db->DestroyColumnFamilyHandle(state);
    db->Close();
  }

  [[nodiscard]] std::unexpected<Error> io(std::string_view what, const rocksdb::Status &status) const {
    return fail(Errc::io, fmt::format("store {}: {}: {}", folder.string(), what, status.ToString()));
  }

  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const {
    std::string text;
    if (!db->Get({}, state, meta_key(name), &text).ok()) return otherwise;
    return Decoder(text).u64();
  }

  [[nodiscard]] fs::path ingest_folder() const { return folder / "ingest"; }

  Status load();
  Status load_lists();
  Status create_id();
  void drop_range(std::uint64_t version);
  void drop_unreferenced(const std::vector<GenerationRecord> &kept);
  template <class Each>
  Status scan(rocksdb::ColumnFamilyHandle *family, const std::string &start, Each each) const;
  [[nodiscard]] Result<std::vector<GenerationRecord>> read_generations() const;
};

// Calls `each(key, value)` for all keys that begin with `start`, until it returns false.
template <class Each>
Status Store::State::scan(rocksdb::ColumnFamilyHandle *family, const std::string &start, Each each) const {
  rocksdb::ReadOptions read;
  read.readahead_size = 2u << 20;
  read.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(read, family));
  for (at->Seek(start); at->Valid() && at->key().starts_with(start); at->Next())
    if (!each(at->key(), at->value()))
      return fail(Errc::io,
                  fmt::format("store {}: a record cannot be read; restore it or start with an empty folder",
                              folder.string()));
  if (!at->status().ok()) return io("reading", at->status());
  return {};
}

Result<Store> Store::open(const fs::path &folder, Options options) {
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->options = options;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Errc::io, fmt::format("store {}: cannot be created: {}", folder.string(), error.message()));

  rocksdb::DBOptions db_options;
  db_options.create_if_missing = true;
  db_options.create_missing_column_families = true;
  db_options.keep_log_file_num = 2;
  db_options.max_background_jobs = 2;
  db_options.info_log_level = rocksdb::WARN_LEVEL;
  rocksdb::ColumnFamilyOptions state_options;
  state_options.write_buffer_size = 16u << 20;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, state_options}, {"contents", content_options()}};
  std::vector<rocksdb::ColumnFamilyHandle *> handles;
  rocksdb::DB *db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(db_options, folder.string(), families, &handles, &db);
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
  }
  sequence = number("sequence", 0);
  log_first = number("log_first", 1);
  live = number("live", 0);
  next_generation = number("next_generation", 1);
  next_version = number("next_version", 1);
  if (const Status read = load_lists(); !read) return read;

  // What a killed process left half done.
  std::error_code ignored;
  fs::remove_all(ingest_folder(), ignored);
  fs::create_directories(ingest_folder(), ignored);
  const auto kept = read_generations();
  if (!kept) return std::unexpected(kept.error());
  drop_unreferenced(*kept);
  return {};
}

Status Store::State::create_id() {
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    return fail(Errc::io, "no random bytes for a store id");
  rocksdb::WriteBatch batch;
  batch.Put(state, meta_key("id"), rocksdb::Slice(reinterpret_cast<const char *>(id.data()), id.size()));
  batch.Put(state, meta_key("version"), rocksdb::Slice(store_version.data(), store_version.size()));
  const rocksdb::Status written = db->Write(synced(), &batch);
  if (!written.ok()) return io("writing", written);
  return {};
}

Status Store::State::load_lists() {
  return scan(state, std::string(1, list_tag), [&](const rocksdb::Slice &key, const rocksdb::Slice &value) {
    numbers[std::string(key.data() + 1, key.size() - 1)] = Decoder({value.data(), value.size()}).u16();
    return value.size() == 2;
  });
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

std::uint64_t Store::bytes() const {
  std::uint64_t total = 0, one = 0;
  for (rocksdb::ColumnFamilyHandle *family : {state_->state, state_->entries})
    for (const char *property : {"rocksdb.total-sst-files-size", "rocksdb.cur-size-all-mem-tables"})
      if (state_->db->GetIntProperty(family, property, &one)) total += one;
  return total;
}

// ---- lists -------------------------------------------------------------------------------------

Result<std::uint16_t> Store::number_of(const std::string &list_name) {
  const std::lock_guard lock(state_->mutex);
  if (const auto known = state_->numbers.find(list_name); known != state_->numbers.end())
    return known->second;
  const std::size_t next = state_->numbers.size(); // numbers are given in order and never taken back
  if (next >= image::lists_max)
    return fail(Errc::refused,
                fmt::format("list {}: all {} list numbers are taken; start with an empty store", list_name,
                            image::lists_max));
  const auto number = static_cast<std::uint16_t>(next);
  const auto written = state_->db->Put(synced(), state_->state, std::string(1, list_tag) + list_name,
                                       Encoder().u16(number).text);
  if (!written.ok()) return state_->io("writing", written);
  state_->numbers.emplace(list_name, number);
  return number;
}

// ---- dynamic entries and the log ---------------------------------------------------------------

Result<std::uint64_t> Store::write(const DynamicChange &change) {
  const std::lock_guard lock(state_->mutex);
  rocksdb::WriteBatch batch;
  for (const DynamicKey &key : change.erase) batch.Delete(state_->state, dynamic_key(key));
  for (const DynamicEntry &entry : change.put)
    batch.Put(state_->state, dynamic_key(entry.key), encode(entry));
  std::uint64_t last = state_->sequence, first = state_->log_first;
  for (const Touched &touched : change.touched)
    batch.Put(state_->state, log_key(++last),
              Encoder().u8(static_cast<std::uint8_t>(touched.side)).prefix(touched.prefix).text);
  // Trimmed in steps, since every range deletion is a burden for later reads.
  const std::uint64_t bound = state_->options.log_entries_max;
  if (last + 1 - first > bound + bound / 8) {
    const std::uint64_t kept_from = last + 1 - bound;
    batch.DeleteRange(state_->state, log_key(first), log_key(kept_from));
    first = kept_from;
    batch.Put(state_->state, meta_key("log_first"), number_text(first));
  }
  batch.Put(state_->state, meta_key("sequence"), number_text(last));
  const rocksdb::Status written = state_->db->Write(synced(), &batch);
  if (!written.ok()) return state_->io("writing", written);
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

// ---- contents ----------------------------------------------------------------------------------

struct ContentWriter::State {
  Store::State *store = nullptr;
  std::uint64_t version = 0;
  fs::path file;
  rocksdb::SstFileWriter writer;
  std::string key; // kept to spare allocations
  std::uint64_t entries = 0;
  bool finished = false;

  State(Store::State *of, std::uint64_t number)
      : store(of), version(number), file(of->ingest_folder() / fmt::format("{}.sst", number)),
        writer(rocksdb::EnvOptions(), of->db->GetOptions(of->entries), of->entries) {}

  ~State() {
    if (finished) return;
    std::error_code ignored;
    fs::remove(file, ignored);
    const std::lock_guard lock(store->mutex);
    store->being_written.erase(version);
  }
};

ContentWriter::ContentWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContentWriter::ContentWriter(ContentWriter &&) noexcept = default;
ContentWriter &ContentWriter::operator=(ContentWriter &&) noexcept = default;
ContentWriter::~ContentWriter() = default;

Result<ContentWriter> Store::begin_content() {
  std::uint64_t version = 0;
  {
    const std::lock_guard lock(state_->mutex);
    version = state_->next_version;
    const auto written =
        state_->db->Put(synced(), state_->state, meta_key("next_version"), number_text(version + 1));
    if (!written.ok()) return state_->io("writing", written);
    state_->next_version = version + 1;
    state_->being_written.insert(version);
  }
  auto writer = std::make_unique<ContentWriter::State>(state_.get(), version);
  const rocksdb::Status opened = writer->writer.Open(writer->file.string());
  if (!opened.ok()) return state_->io("writing " + writer->file.string(), opened);
  writer->key = number_text(version);
  return ContentWriter(std::move(writer));
}

Status ContentWriter::add(const Prefix &prefix, std::string_view comment) {
  State &s = *state_;
  s.key.resize(sizeof s.version);
  s.key.push_back(static_cast<char>(prefix.family()));
  s.key.append(reinterpret_cast<const char *>(prefix.address.bytes.data()), address_bytes(prefix.family()));
  s.key.push_back(static_cast<char>(prefix.length));
  const rocksdb::Status put = s.writer.Put(s.key, rocksdb::Slice(comment.data(), comment.size()));
  if (!put.ok()) return s.store->io("writing " + s.file.string(), put);
  ++s.entries;
  return {};
}

Result<std::uint64_t> ContentWriter::finish() {
  State &s = *state_;
  if (s.entries > 0) {
    rocksdb::Status status = s.writer.Finish();
    if (!status.ok()) return s.store->io("writing " + s.file.string(), status);
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    status = s.store->db->IngestExternalFile(s.store->entries, {s.file.string()}, options);
    if (!status.ok()) return s.store->io("ingesting " + s.file.string(), status);
  }
  std::error_code ignored;
  fs::remove(s.file, ignored); // an empty content has no file in the store, and a moved one may be linked
  s.finished = true;
  return s.version;
}

Status Store::read_content(std::uint64_t version,
                           const std::function<void(const Prefix &, std::string_view)> &each) const {
  return state_->scan(state_->entries, number_text(version),
                      [&](const rocksdb::Slice &key, const rocksdb::Slice &value) {
                        Decoder k({key.data() + 8, key.size() - 8});
                        const Prefix prefix = k.prefix();
                        each(prefix, {value.data(), value.size()});
                        return k.ok();
                      });
}

Result<std::optional<std::string>> Store::content_comment(std::uint64_t version, const Prefix &prefix) const {
  std::string value;
  const rocksdb::Status found = state_->db->Get({}, state_->entries, content_key(version, prefix), &value);
  if (found.IsNotFound()) return std::nullopt;
  if (!found.ok()) return state_->io("reading", found);
  return value;
}

void Store::drop_content(std::uint64_t version) {
  if (version == 0) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->being_written.erase(version);
  }
  state_->drop_range(version);
}

// Failure leaves garbage, which the next open removes: nobody refers to it.
void Store::State::drop_range(std::uint64_t version) {
  const std::string first = number_text(version), end = number_text(version + 1);
  const rocksdb::Slice begin_slice(first), end_slice(end);
  (void)rocksdb::DeleteFilesInRange(db.get(), entries, &begin_slice, &end_slice, false);
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, entries));
  at->Seek(first);
  if (at->Valid() && at->key().starts_with(first))
    (void)db->DeleteRange(rocksdb::WriteOptions(), entries, first, end);
}

// Walks the versions by seeking from one to the next, so that its cost is theirs and not the entries'.
void Store::State::drop_unreferenced(const std::vector<GenerationRecord> &kept) {
  std::set<std::uint64_t> wanted;
  for (const GenerationRecord &g : kept)
    for (const ListMeta &l : g.lists) wanted.insert(l.content_version);
  {
    const std::lock_guard lock(mutex);
    wanted.insert(being_written.begin(), being_written.end());
  }
  std::vector<std::uint64_t> dropped;
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, entries));
  for (at->SeekToFirst(); at->Valid();) {
    const std::uint64_t version = Decoder({at->key().data(), at->key().size()}).u64();
    if (!wanted.contains(version)) dropped.push_back(version);
    at->Seek(number_text(version + 1));
  }
  at.reset();
  for (const std::uint64_t version : dropped) drop_range(version);
}

// ---- generations -------------------------------------------------------------------------------

Result<std::uint64_t> Store::take_generation_number(std::uint64_t above) {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t id = std::max(state_->next_generation, above + 1);
  const auto written =
      state_->db->Put(synced(), state_->state, meta_key("next_generation"), number_text(id + 1));
  if (!written.ok()) return state_->io("writing", written);
  state_->next_generation = id + 1;
  return id;
}

Status Store::make_live(const GenerationRecord &record, unsigned keep, std::uint64_t replaces) {
  auto kept = state_->read_generations();
  if (!kept) return std::unexpected(kept.error());
  rocksdb::WriteBatch batch;
  std::erase_if(*kept, [&](const GenerationRecord &g) {
    if (g.id != replaces && g.id != record.id) return false;
    batch.Delete(state_->state, generation_key(g.id));
    return true;
  });
  kept->push_back(record);
  while (kept->size() > std::max(keep, 1u)) {
    batch.Delete(state_->state, generation_key(kept->front().id));
    kept->erase(kept->begin());
  }
  batch.Put(state_->state, generation_key(record.id), encode(record));
  batch.Put(state_->state, meta_key("live"), number_text(record.id));
  const rocksdb::Status written = state_->db->Write(synced(), &batch);
  if (!written.ok()) return state_->io("writing", written);
  {
    const std::lock_guard lock(state_->mutex);
    state_->live = record.id;
    for (const ListMeta &l : record.lists) state_->being_written.erase(l.content_version);
  }
  state_->drop_unreferenced(*kept);
  return {};
}

Status Store::skip_to(std::uint64_t sequence) {
  const std::lock_guard lock(state_->mutex);
  if (sequence <= state_->sequence) return {};
  rocksdb::WriteBatch batch;
  batch.DeleteRange(state_->state, log_key(state_->log_first), log_key(sequence + 1));
  batch.Put(state_->state, meta_key("log_first"), number_text(sequence + 1));
  batch.Put(state_->state, meta_key("sequence"), number_text(sequence));
  const rocksdb::Status written = state_->db->Write(synced(), &batch);
  if (!written.ok()) return state_->io("writing", written);
  state_->sequence = sequence;
  state_->log_first = sequence + 1;
  return {};
}

Status Store::set_note(std::string_view name, std::string_view text) {
  const std::string key = meta_key("note/" + std::string(name));
  const rocksdb::Status written =
      text.empty() ? state_->db->Delete(synced(), state_->state, key)
                   : state_->db->Put(synced(), state_->state, key, rocksdb::Slice(text.data(), text.size()));
  if (!written.ok()) return state_->io("writing", written);
  return {};
}

std::string Store::note(std::string_view name) const {
  std::string text;
  (void)state_->db->Get({}, state_->state, meta_key("note/" + std::string(name)), &text);
  return text;
}

Result<std::vector<GenerationRecord>> Store::generations() const { return state_->read_generations(); }

Result<std::vector<GenerationRecord>> Store::State::read_generations() const {
  std::vector<GenerationRecord> all;
  const Status read =
      scan(state, std::string(1, generation_tag), [&](const rocksdb::Slice &, const rocksdb::Slice &value) {
        auto record = decode_generation(view(value));
        if (record) all.push_back(std::move(*record));
        return record.has_value();
      });
  if (!read) return std::unexpected(read.error());
  return all;
}

} // namespace weir::store
