// RocksDB as the store wants it: what it says, when it writes again after an error, what it takes on the
// disk.
#include "control/store/state.hpp"

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

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
// that is not about space. Store::State::commit() takes it up itself when the next change comes.
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

} // namespace

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

// Atomic, and on the disk when it returns. After an error RocksDB refuses every write until it is told to
// resume, which writes what is in memory to a new file and begins a new log: the record that failed is
// then gone for good, and this one is tried once more.
rocksdb::Status Store::State::commit(rocksdb::WriteBatch &batch) {
  const std::lock_guard lock(writing);
  keep_a_record_in_memory();
  rocksdb::Status written = db->Write(synced(), &batch);
  if (!written.ok() && resume().ok()) {
    keep_a_record_in_memory();
    written = db->Write(synced(), &batch);
  }
  refused_below_bytes = written.IsNoSpace() ? free_bytes(folder).value_or(0) + space_bytes_min : 0;
  return written;
}

// Where it was the list of files that could not be written, RocksDB takes for granted that nobody removes
// files meanwhile; a success allows it again.
rocksdb::Status Store::State::resume() {
  (void)db->DisableFileDeletions();
  return db->Resume();
}

rocksdb::Status Store::State::put(const std::string &key, std::string_view value) {
  rocksdb::WriteBatch batch;
  batch.Put(state, key, rocksdb::Slice(value.data(), value.size()));
  return commit(batch);
}

// Resume() begins a new log only when something is in memory, and to write once more to one that failed is
// an assertion in Debian's build. A note that never reaches the log keeps the memory from being empty;
// memory is emptied here rather than by RocksDB in the middle of a write.
void Store::State::keep_a_record_in_memory() {
  std::uint64_t bytes = 0, records = 0;
  if (db->GetIntProperty(state, "rocksdb.cur-size-active-mem-table", &bytes) && bytes > write_buffer_bytes)
    (void)db->Flush({}, state);
  if (db->GetIntProperty(state, "rocksdb.num-entries-active-mem-table", &records) && records > 0) return;
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  (void)db->Put(unlogged, state, meta_key("in_memory"), "");
}

std::uint64_t Store::bytes() const { return allocated_bytes(state_->folder); }

Space Store::space() const {
  const auto free = free_bytes(state_->folder);
  return {free, free && *free < std::max(space_bytes_min, state_->refused_below_bytes.load())};
}

} // namespace weir::store
