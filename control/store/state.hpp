// Inside of the store: what its source files share. Nobody else includes this, and RocksDB with it.
#pragma once

#include "control/store/records.hpp"
#include "control/store/store.hpp"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <atomic>
#include <bitset>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weir::store {

inline rocksdb::WriteOptions synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

inline constexpr std::size_t write_buffer_bytes = 16u << 20;

[[nodiscard]] rocksdb::DBOptions database_options(); // database.cpp

inline std::string_view view(const rocksdb::Slice &slice) { return {slice.data(), slice.size()}; }

struct Store::State {
  std::filesystem::path folder;
  Options options;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle *entries = nullptr; // what files said
  rocksdb::ColumnFamilyHandle *state = nullptr;   // everything else

  mutable std::mutex writing; // one write at a time, and with it what mends the database
  std::atomic<std::uint64_t> refused_below_bytes = 0; // of free space; 0: the last write found room

  std::mutex sequencing;    // held while sequences are given and written, before both others
  mutable std::mutex mutex; // guards what follows
  image::StoreId id{};
  std::uint64_t sequence = 0, log_first = 1, live = 0;
  std::uint64_t next_generation = 1, next_version = 1;
  std::uint16_t never_deny = 0;
  std::bitset<image::lists_max> taken;      // numbers of lists that kept generations name
  std::set<std::uint16_t> to_forget;        // others that may have dynamic entries
  std::map<std::uint64_t, ContentSum> sums; // of all versions there are
  std::set<std::uint64_t> being_written;    // versions that no generation refers to yet, but one will
  mutable std::set<std::uint64_t> damaged;  // versions that were not read as they were written
  std::uint64_t entries_dropped = 0;        // since the last compaction

  ~State() {
    if (!db) return;
    db->DestroyColumnFamilyHandle(entries);
    db->DestroyColumnFamilyHandle(state);
    db->Close();
  }

  [[nodiscard]] std::unexpected<Error> io(std::string_view what, const rocksdb::Status &status) const {
    if (status.IsNoSpace())
      return fail(Errc::io, fmt::format("store {}: {}: the state folder is full; nothing was changed and "
                                        "forwarding goes on: free some space and try again",
                                        folder.string(), what));
    return fail(Errc::io, fmt::format("store {}: {}: {}", folder.string(), what, status.ToString()));
  }

  void put_or_delete(rocksdb::WriteBatch &batch, const std::string &key, std::string_view text) const {
    if (text.empty())
      batch.Delete(state, key);
    else
      batch.Put(state, key, rocksdb::Slice(text.data(), text.size()));
  }

  [[nodiscard]] std::filesystem::path ingest_folder() const { return folder / "ingest"; }

  bool has_sums = true; // a store of version 1 has none

  // database.cpp: every write goes through these
  rocksdb::Status commit(rocksdb::WriteBatch &batch);
  rocksdb::Status put(const std::string &key, std::string_view value);
  void keep_a_record_in_memory();
  rocksdb::Status resume();

  Status load();
  Status read_number(const char *name, std::uint64_t &into) const;
  Status read_version();
  Status create_id();
  Status adopt(const std::set<std::uint64_t> &wanted);

  // lists.cpp
  Status load_lists(const std::vector<GenerationRecord> &kept);
  void take_numbers(const std::vector<GenerationRecord> &kept);

  // contents.cpp
  Status load_contents(const std::vector<GenerationRecord> &kept);
  void sweep_gaps(const std::set<std::uint64_t> &wanted);
  void drop_range(std::uint64_t first, std::uint64_t end);        // versions first .. end - 1
  void drop_versions(const std::vector<std::uint64_t> &versions); // sorted
  void compact_when_worth_it();
  [[nodiscard]] std::vector<std::uint64_t> unreferenced(const std::vector<GenerationRecord> &kept) const;

  // generations.cpp
  Status drop_unnamed();
  [[nodiscard]] Result<std::vector<GenerationRecord>> read_generations() const;

  template <class Each>
  Status scan(rocksdb::ColumnFamilyHandle *family, const std::string &start, Each each) const;
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
                  fmt::format("store {}: a record cannot be read; put a copy of this folder back, or move it "
                              "away and start anew from the configuration",
                              folder.string()));
  if (!at->status().ok()) return io("reading", at->status());
  return {};
}

} // namespace weir::store
