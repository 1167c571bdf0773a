// Inside of the store: what its source files share. Nobody else includes this.
#pragma once

#include "control/store/database.hpp"
#include "control/store/records.hpp"
#include "control/store/store.hpp"
#include "weir/image/lists.hpp"

#include <fmt/format.h>

#include <array>
#include <bitset>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::store {

struct Store::State {
  explicit State(Database &&opened) : database(std::move(opened)) {}

  std::filesystem::path folder;
  Options options;
  Database database;

  std::mutex sequencing; // held while sequences are given and written, before both others
  std::array<std::mutex, audit_kinds>
      auditing;             // held while records of a kind are numbered and written, before `mutex`
  mutable std::mutex mutex; // guards what follows
  image::StoreId id{};
  std::uint64_t sequence = 0, log_first = 1;
  Generation live;
  Generation next_generation = 1;
  std::uint64_t next_version = 1;
  ListId never_deny{};
  std::bitset<image::lists_max> taken;      // numbers of lists that kept generations name
  std::set<ListId> to_forget;               // others that may have dynamic entries
  std::map<std::uint64_t, ContentSum> sums; // of all versions there are
  std::set<std::uint64_t> being_written;    // versions that no generation refers to yet, but one will
  mutable std::set<std::uint64_t> damaged;  // versions that were not read as they were written
  std::uint64_t entries_dropped = 0;        // since the last compaction

  bool has_sums = true; // a store of version 1 has none

  struct AuditRange { // numbers of the records that are kept: first .. next - 1
    std::uint64_t first = 1, next = 1;
  };
  std::array<AuditRange, audit_kinds> audits;
  std::map<Generation, std::uint64_t> audit_of; // records of generations that may still be taken back

  Status load();
  Status read_number(const char *name, std::uint64_t &into) const;
  Status read_version();
  Status create_id();
  Status adopt(const std::set<std::uint64_t> &wanted);

  // lists.cpp
  Status load_lists(const std::vector<GenerationRecord> &kept);
  void take_numbers(const std::vector<GenerationRecord> &kept);

  // contents.cpp
  [[nodiscard]] Status read_version_of(std::uint64_t version,
                                       const std::function<bool(std::string_view, std::string_view)> &each);
  Status load_contents(const std::vector<GenerationRecord> &kept);
  void sweep_gaps(const std::set<std::uint64_t> &wanted);
  void drop_range(std::uint64_t first, std::uint64_t end);        // versions first .. end - 1
  void drop_versions(const std::vector<std::uint64_t> &versions); // sorted
  void compact_when_worth_it();
  [[nodiscard]] std::vector<std::uint64_t> unreferenced(const std::vector<GenerationRecord> &kept) const;

  // audit.cpp
  Status load_audit();
  // Puts the record into the batch, and what it leaves no room for out of the store. The range that holds once the
  // batch is committed. The caller holds `auditing`.
  [[nodiscard]] AuditRange put_audit(Batch &batch, AuditKind kind,
                                     std::span<const AuditRecord> records) const;
  [[nodiscard]] std::mutex &auditing_of(AuditKind kind) { return auditing[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] AuditRange &range_of(AuditKind kind) { return audits[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const AuditRange &range_of(AuditKind kind) const {
    return audits[static_cast<std::size_t>(kind)];
  }

  // generations.cpp
  Status drop_unnamed();
  [[nodiscard]] Result<std::vector<GenerationRecord>> read_generations() const;
};

} // namespace weir::store
