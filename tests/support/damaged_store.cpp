#include "tests/support/damaged_store.hpp"

#include <rocksdb/db.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace weir::test {

struct DamagedStore::State {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle *> handles; // state, contents

  ~State() {
    for (rocksdb::ColumnFamilyHandle *handle : handles) (void)db->DestroyColumnFamilyHandle(handle);
  }

  [[nodiscard]] std::string first_key(std::uint64_t version) const {
    const std::uint64_t big = __builtin_bswap64(version);
    const std::string start(reinterpret_cast<const char *>(&big), sizeof big);
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, handles[1]));
    at->Seek(start);
    if (!at->Valid() || !at->key().starts_with(start)) throw std::runtime_error("no such content");
    return at->key().ToString();
  }
};

DamagedStore::DamagedStore(const std::filesystem::path &folder) : state_(std::make_unique<State>()) {
  rocksdb::DB *db = nullptr;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions()},
      {"contents", rocksdb::ColumnFamilyOptions()}};
  const auto opened =
      rocksdb::DB::Open(rocksdb::DBOptions(), folder.string(), families, &state_->handles, &db);
  if (!opened.ok()) throw std::runtime_error(opened.ToString());
  state_->db.reset(db);
}

DamagedStore::~DamagedStore() = default;

void DamagedStore::lose_entry(std::uint64_t version) {
  (void)state_->db->Delete({}, state_->handles[1], state_->first_key(version));
}

void DamagedStore::change_entry(std::uint64_t version) {
  (void)state_->db->Put({}, state_->handles[1], state_->first_key(version), "else");
}

void DamagedStore::make_version_1() {
  (void)state_->db->Put({}, state_->handles[0], "mversion", "1");
  (void)state_->db->DeleteRange({}, state_->handles[0], "c", "d");
}

} // namespace weir::test
