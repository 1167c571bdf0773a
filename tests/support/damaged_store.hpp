// Harm done to a closed store behind its back, for tests of what then happens.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::test {

class DamagedStore {
public:
  explicit DamagedStore(const std::filesystem::path &folder) {
    rocksdb::DB *db = nullptr;
    const auto opened =
        rocksdb::DB::Open(rocksdb::DBOptions(), folder.string(),
                          {{rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions()},
                           {"contents", rocksdb::ColumnFamilyOptions()}},
                          &handles_, &db);
    if (!opened.ok()) throw std::runtime_error(opened.ToString());
    db_.reset(db);
  }
  DamagedStore(const DamagedStore &) = delete;
  DamagedStore &operator=(const DamagedStore &) = delete;
  ~DamagedStore() {
    for (rocksdb::ColumnFamilyHandle *handle : handles_) (void)db_->DestroyColumnFamilyHandle(handle);
  }

  // The first entry of a content version goes, or has another comment.
  void lose_entry(std::uint64_t version) { (void)db_->Delete({}, handles_[1], first_key(version)); }
  void change_entry(std::uint64_t version) { (void)db_->Put({}, handles_[1], first_key(version), "else"); }

  // As version 1 of the store left it.
  void make_version_1() {
    (void)db_->Put({}, handles_[0], "mversion", "1");
    (void)db_->DeleteRange({}, handles_[0], "c", "d");
  }

private:
  [[nodiscard]] std::string first_key(std::uint64_t version) const {
    const std::uint64_t big = __builtin_bswap64(version);
    const std::string start(reinterpret_cast<const char *>(&big), sizeof big);
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}, handles_[1]));
    at->Seek(start);
    if (!at->Valid() || !at->key().starts_with(start)) throw std::runtime_error("no such content");
    return at->key().ToString();
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle *> handles_;
};

} // namespace weir::test
