#include "control/store/database.hpp"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace weir::store {

namespace fs = std::filesystem;

namespace {

// Files of contents are opened as they are read: their number must not be bounded by that of descriptors.
constexpr int open_files_max = 64;

// Errors to stderr, and no LOG files: those would fill the folder, and Debian's build asserts when
// one of them cannot be written. What a call of ours fails with is reported by who called.
class ErrorLog : public rocksdb::Logger {
public:
  ErrorLog() : Logger(rocksdb::ERROR_LEVEL) {}
  void Logv(const char *, va_list) override {} // without a level: nothing that anybody has to know
  void Logv(const rocksdb::InfoLogLevel level, const char *format, va_list arguments) override {
    if (level < rocksdb::ERROR_LEVEL || level >= rocksdb::HEADER_LEVEL) return;
    std::array<char, 512> text{};
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    if (length <= 0) return;
    std::string line = "weir-control: store: " + std::string(text.data());
    std::replace(line.begin(), line.end(), '\n', ' ');
    line += '\n';
    (void)!::write(STDERR_FILENO, line.data(), line.size()); // nobody is left to tell when this fails
  }
};

// RocksDB would wait for 64 MiB of free space before it takes up writing again, and never after an error
// that is not about space. Database::commit() takes it up itself when the next change comes.
class ResumedByTheNextWrite : public rocksdb::EventListener {
public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status *error) override {
    if (error->IsIOError() && error->severity() > rocksdb::Status::kHardError)
      *error = rocksdb::Status(*error, rocksdb::Status::kHardError);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool *by_itself) override {
    *by_itself = false;
  }
};

std::optional<std::uint64_t> free_bytes(const fs::path &folder) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::uint64_t allocated_bytes(const fs::path &folder) {
  std::uint64_t total = 0;
  std::error_code fault;
  for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    struct stat file{};
    if (::stat(at->path().c_str(), &file) == 0 && S_ISREG(file.st_mode))
      total += static_cast<std::uint64_t>(file.st_blocks) * 512;
  }
  return total;
}

constexpr std::size_t write_buffer_bytes = 4u << 20;
constexpr std::chrono::seconds compaction_wait_max{30};
constexpr const char *in_doubt_text =
    "memory was refused in the middle of a write to the store: weir-control ends now, and whether this "
    "change is kept shows when it has started again";

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view view(const rocksdb::Slice &slice) { return {slice.data(), slice.size()}; }

rocksdb::WriteOptions synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

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

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_open_files = open_files_max;
  options.max_background_jobs = 2;
  options.info_log = std::make_shared<ErrorLog>();
  options.info_log_level = rocksdb::ERROR_LEVEL;
  options.listeners.push_back(std::make_shared<ResumedByTheNextWrite>());
  options.allow_fallocate = false; // 70 MiB of preallocated log beside some hundred bytes of it
  return options;
}

} // namespace

struct Database::State {
  fs::path folder;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle *state = nullptr, *contents = nullptr;

  mutable std::mutex writing; // one write at a time, and with it what mends the database
  std::atomic<std::uint64_t> refused_below_bytes = 0; // of free space; 0: the last write found room
  std::atomic<bool> resumed = false;                  // after an error, since it was opened

  std::atomic<bool> damaged = false; // an exception left RocksDB in the middle of a write
  // What is said then, made while there is memory. The record may be in RocksDB's log already.
  Error in_doubt{Errc::no_memory, in_doubt_text};

  ~State() {
    if (!db) return;
    if (damaged) {
      (void)db.release(); // closing it would wait for the write that never ends
      return;
    }
    db->DestroyColumnFamilyHandle(contents);
    db->DestroyColumnFamilyHandle(state);
    db->Close();
  }

  [[nodiscard]] rocksdb::ColumnFamilyHandle *handle(Keys of) const {
    return of == Keys::contents ? contents : state;
  }
  [[nodiscard]] std::unexpected<Error> io(std::string_view what, const rocksdb::Status &status) const {
    if (status.IsNoSpace())
      return fail(Errc::io, fmt::format("store {}: {}: the state folder is full; nothing was changed and "
                                        "forwarding goes on: free some space and try again",
                                        folder.string(), what));
    return fail(Errc::io, fmt::format("store {}: {}: {}", folder.string(), what, status.ToString()));
  }
  [[nodiscard]] fs::path ingest_folder() const { return folder / "ingest"; }

  // RocksDB is not made for exceptions. One that leaves it in the middle of a write, when memory was refused,
  // leaves a queue of writers that nobody serves: every later write would wait for ever.
  template <class Call> rocksdb::Status write_with(Call call) {
    if (damaged)
      return rocksdb::Status::Aborted(
          "memory was refused in the middle of a write; weir-control must be started again");
    try {
      return call();
    } catch (...) {
      damaged = true;
      throw;
    }
  }

  rocksdb::Status commit(rocksdb::WriteBatch &batch);
  rocksdb::Status write_or_mend(rocksdb::WriteBatch &batch);
  rocksdb::Status resume(const rocksdb::Status &after);
  void keep_a_record_in_memory();
};

// ---- opening -----------------------------------------------------------------------------------

Result<Database> Database::open(const fs::path &folder) {
  auto state = std::make_unique<State>();
  state->folder = folder;
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
  state->contents = handles[1];
  // What a killed process left half done.
  std::error_code ignored;
  fs::remove_all(state->ingest_folder(), ignored);
  fs::create_directories(state->ingest_folder(), ignored);
  return Database(std::move(state));
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database &&) noexcept = default;
Database &Database::operator=(Database &&) noexcept = default;
Database::~Database() = default;

// ---- reading -----------------------------------------------------------------------------------

Result<std::optional<std::string>> Database::get(std::string_view key, Keys of) const {
  std::string value;
  const rocksdb::Status found = state_->db->Get({}, state_->handle(of), slice(key), &value);
  if (found.IsNotFound()) return std::nullopt;
  if (!found.ok()) return state_->io("reading", found);
  return value;
}

Status Database::scan(Keys of, std::string_view start,
                      const std::function<bool(std::string_view, std::string_view)> &each) const {
  rocksdb::ReadOptions read;
  read.readahead_size = 2u << 20;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(state_->db->NewIterator(read, state_->handle(of)));
  for (at->Seek(slice(start)); at->Valid() && at->key().starts_with(slice(start)); at->Next())
    if (!each(view(at->key()), view(at->value())))
      return fail(Errc::io,
                  fmt::format("store {}: a record cannot be read; put a copy of this folder back, or move it "
                              "away and start anew from the configuration",
                              state_->folder.string()));
  if (!at->status().ok()) return state_->io("reading", at->status());
  return {};
}

Status Database::scan(Keys of, std::string_view first, std::string_view end,
                      const std::function<void(std::string_view, std::string_view)> &each) const {
  rocksdb::ReadOptions read;
  read.readahead_size = 2u << 20;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(state_->db->NewIterator(read, state_->handle(of)));
  for (at->Seek(slice(first)); at->Valid() && view(at->key()) < end; at->Next())
    each(view(at->key()), view(at->value()));
  if (!at->status().ok()) return state_->io("reading", at->status());
  return {};
}

Result<std::optional<std::string>> Database::first_key(Keys of, std::string_view from) const {
  const std::unique_ptr<rocksdb::Iterator> at(state_->db->NewIterator({}, state_->handle(of)));
  at->Seek(slice(from));
  if (!at->status().ok()) return state_->io("reading", at->status());
  if (!at->Valid()) return std::nullopt;
  return at->key().ToString();
}

std::optional<std::string> Database::last_key(Keys of) const {
  const std::unique_ptr<rocksdb::Iterator> at(state_->db->NewIterator({}, state_->handle(of)));
  at->SeekToLast();
  if (!at->Valid()) return std::nullopt;
  return at->key().ToString();
}

// ---- writing -----------------------------------------------------------------------------------

struct Batch::State {
  const Database::State *database = nullptr;
  rocksdb::WriteBatch batch;
};

Batch::Batch(const Database &database) : state_(std::make_unique<State>()) {
  state_->database = database.state_.get();
}
Batch::~Batch() = default;

void Batch::put(std::string_view key, std::string_view value, Keys of) {
  state_->batch.Put(state_->database->handle(of), slice(key), slice(value));
}

void Batch::put_or_erase(std::string_view key, std::string_view value) {
  value.empty() ? erase(key) : put(key, value);
}

void Batch::erase(std::string_view key) { state_->batch.Delete(state_->database->state, slice(key)); }

void Batch::erase_range(std::string_view first, std::string_view end, Keys of) {
  state_->batch.DeleteRange(state_->database->handle(of), slice(first), slice(end));
}

bool Batch::empty() const { return state_->batch.Count() == 0; }

Status Database::commit(Batch &batch) {
  rocksdb::Status written;
  try {
    written = state_->commit(batch.state_->batch);
  } catch (const std::bad_alloc &) { // once: nothing is written after that
    return std::unexpected(std::move(state_->in_doubt));
  }
  if (!written.ok()) return state_->io("writing", written);
  return {};
}

Status Database::put(std::string_view key, std::string_view value) {
  Batch batch(*this);
  batch.put(key, value);
  return commit(batch);
}

// Atomic, and on the disk when it returns. After an error RocksDB refuses every write until it is told to
// resume, which writes what is in memory to a new file and begins a new log: the record that failed is
// then gone for good, and this one is tried once more.
rocksdb::Status Database::State::commit(rocksdb::WriteBatch &batch) {
  const std::lock_guard lock(writing);
  return write_with([&] { return write_or_mend(batch); });
}

rocksdb::Status Database::State::write_or_mend(rocksdb::WriteBatch &batch) {
  keep_a_record_in_memory();
  rocksdb::Status written = db->Write(synced(), &batch);
  if (!written.ok() && resume(written).ok()) {
    keep_a_record_in_memory();
    written = db->Write(synced(), &batch);
  }
  refused_below_bytes = written.IsNoSpace() ? free_bytes(folder).value_or(0) + space_bytes_min : 0;
  return written;
}

// Where it was the list of files that could not be written, RocksDB takes for granted that nobody removes
// files meanwhile; a success allows it again.
// A compaction that fails while Resume() waits for it counts as a failure of the resumption: Resume() then
// returns before the flush that it ordered has begun, that flush gives up and stays in RocksDB's queue, and
// every later flush waits for it without end. So the wait is here; after a hard error no compaction begins.
// A soft one is a compaction's own: it is tried again each second, and Resume() waits for nothing then.
rocksdb::Status Database::State::resume(const rocksdb::Status &after) {
  const auto patient_until = std::chrono::steady_clock::now() + compaction_wait_max;
  if (after.severity() != rocksdb::Status::kSoftError)
    for (std::uint64_t running = 0;
         db->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running) && running > 0;) {
      if (std::chrono::steady_clock::now() > patient_until) return after; // the next change tries again
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  (void)db->DisableFileDeletions();
  const rocksdb::Status again = db->Resume();
  if (again.ok()) resumed = true;
  return again;
}

// Resume() begins a new log only when something is in memory, and to write once more to one that failed is
// an assertion in Debian's build. A note that never reaches the log keeps the memory from being empty;
// memory is emptied here rather than by RocksDB in the middle of a write.
void Database::State::keep_a_record_in_memory() {
  std::uint64_t bytes = 0, records = 0;
  if (db->GetIntProperty(state, "rocksdb.cur-size-active-mem-table", &bytes) && bytes > write_buffer_bytes)
    (void)db->Flush({}, state);
  if (db->GetIntProperty(state, "rocksdb.num-entries-active-mem-table", &records) && records > 0) return;
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  (void)db->Put(unlogged, state, "min_memory", "");
}

// ---- sorted files ------------------------------------------------------------------------------

struct SortedFile::State {
  Database::State *database = nullptr;
  fs::path file;
  std::optional<rocksdb::SstFileWriter> writer;

  State(Database::State *of, fs::path path)
      : database(of), file(std::move(path)),
        writer(std::in_place, rocksdb::EnvOptions(), of->db->GetOptions(of->contents), of->contents) {}
  State(const State &) = delete;
  State &operator=(const State &) = delete;
  ~State() {
    writer.reset();
    std::error_code ignored;
    fs::remove(file, ignored); // what was taken in is a file in the store, and a moved one may be linked
  }

  [[nodiscard]] rocksdb::Status move_in() const; // the file
  [[nodiscard]] rocksdb::Status copy_in() const; // what it holds
};

SortedFile::SortedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SortedFile::SortedFile(SortedFile &&) noexcept = default;
SortedFile &SortedFile::operator=(SortedFile &&) noexcept = default;
SortedFile::~SortedFile() = default;

Result<SortedFile> Database::sorted_file(const std::string &name) {
  auto state = std::make_unique<SortedFile::State>(state_.get(), state_->ingest_folder() / name);
  const rocksdb::Status opened = state->writer->Open(state->file.string());
  if (!opened.ok()) return state_->io("writing " + state->file.string(), opened);
  return SortedFile(std::move(state));
}

Status SortedFile::put(std::string_view key, std::string_view value) {
  const rocksdb::Status put = state_->writer->Put(slice(key), slice(value));
  if (!put.ok()) return state_->database->io("writing " + state_->file.string(), put);
  return {};
}

rocksdb::Status SortedFile::State::move_in() const {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  return database->db->IngestExternalFile(database->contents, {file.string()}, options);
}

// RocksDB that was resumed takes no more files: it meets an assertion of Debian's build. The entries take the
// way through the log then, in slices; no generation refers to them before all are there.
rocksdb::Status SortedFile::State::copy_in() const {
  constexpr std::size_t slice_bytes = 4u << 20;
  rocksdb::SstFileReader reader(database->db->GetOptions(database->contents));
  if (const rocksdb::Status opened = reader.Open(file.string()); !opened.ok()) return opened;
  const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator({}));
  rocksdb::WriteBatch batch;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    batch.Put(database->contents, at->key(), at->value());
    if (batch.GetDataSize() < slice_bytes) continue;
    if (const rocksdb::Status written = database->commit(batch); !written.ok()) return written;
    batch.Clear();
  }
  return at->status().ok() ? database->commit(batch) : at->status();
}

Status SortedFile::take_in() {
  State &s = *state_;
  rocksdb::Status status = s.writer->Finish();
  if (!status.ok()) return s.database->io("writing " + s.file.string(), status);
  status = s.database->resumed ? s.copy_in() : s.database->write_with([&s] { return s.move_in(); });
  if (!status.ok()) return s.database->io("ingesting " + s.file.string(), status);
  return {};
}

// ---- contents that nobody needs ----------------------------------------------------------------

void Database::drop_contents(std::string_view first, std::string_view end) {
  const rocksdb::Slice begin_slice = slice(first), end_slice = slice(end);
  (void)state_->write_with([&] {
    return rocksdb::DeleteFilesInRange(state_->db.get(), state_->contents, &begin_slice, &end_slice, false);
  });
  const auto left = first_key(Keys::contents, first);
  if (!left || !*left || **left >= end) return;
  Batch batch(*this);
  batch.erase_range(first, end, Keys::contents);
  (void)commit(batch);
}

void Database::compact_contents() { (void)state_->db->CompactRange({}, state_->contents, nullptr, nullptr); }

std::uint64_t Database::bytes() const { return allocated_bytes(state_->folder); }

bool Database::damaged() const { return state_->damaged; }

Space Database::space() const {
  const auto free = free_bytes(state_->folder);
  return {free, free && *free < std::max(space_bytes_min, state_->refused_below_bytes.load())};
}

} // namespace weir::store
