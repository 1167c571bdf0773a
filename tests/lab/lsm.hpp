// Point lookups of an LSM tree [Chained §5.4, Stacked-early §6.2]: sorted runs that overlap, as RocksDB's table files, each with a
// filter in front. All kinds of filter stand before the same reader, so that they alone differ.
//
//   none             every run is read, newest first
//   bloom            as many bits as `chained` takes, or --bits
//   bloom_2x         twice as many
//   chained          [Chained §5.4]: oldest run first; run i excludes the keys of all later runs. The first run that is read in vain
//                    says that no later one holds the key
//   chained_static   ChainedFilter with static stages, newest run first: run i excludes the keys of all earlier runs, which
//                    are there when it is written. The first run that accepts a key holds it, or none does
//   stacked          stacks of Bloom layers, sized for Zipf reads
//   rocksdb_get      RocksDB's own Get with its own Bloom filters, as many bits as `bloom`
#pragma once

#include "weir/base/result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::lab {

inline constexpr std::array<std::string_view, 7> lsm_arm_names{
    "none", "bloom", "bloom_2x", "chained", "chained_static", "stacked", "rocksdb_get"};

struct LsmTask {
  std::uint64_t keys = 1'000'000; // entries of all runs together
  unsigned runs = 7;
  std::uint64_t lookups = 20'000; // of each kind
  unsigned rounds = 5;            // a lookup's latency is the median of its rounds
  double skew = 1.0;              // exponent of the Zipf reads
  std::uint64_t hot = 0;          // keys that they ask for, half of them absent; 0: as many as `keys`
  double repeats = 0;             // share of a run's keys that earlier runs have too
  double bits = 0;                // a key; 0: what `chained` takes
  double delta_share = 1;         // of the first stage's rate that suits a chain
  bool direct = false;            // O_DIRECT, past the page cache
  bool curve = false;             // every percentile
  std::uint64_t seed = 1;
  std::string folder;            // for table files; empty: TMPDIR
  std::vector<std::string> only; // arms; empty: all
  [[nodiscard]] bool wants(std::string_view arm) const;
};

// Of one kind of question. Microseconds; runs and blocks are means over lookups, counted in a pass of its own.
struct LsmReads {
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, mean = 0;
  double lookups_per_second = 0;
  double runs_read = 0, runs_in_vain = 0, blocks_read = 0;
  std::uint64_t runs_read_most = 0, in_vain_most = 0; // of any lookup
  std::vector<double> curve;                          // P0 to P99, if asked for
  std::array<std::uint64_t, 4> in_vain{};             // lookups with 0, 1, 2, and 3 or more runs read in vain
};

struct LsmArm {
  std::string name;
  double bits_per_key = 0, build_seconds = 0;
  std::uint64_t wrong = 0; // answers that are not the newest version
  LsmReads present, absent, zipf;
};

struct LsmReport {
  LsmTask task;
  std::uint64_t entries = 0, table_bytes = 0;
  double bits_per_key = 0; // of bloom, stacked and Get
  // Of `chained`: key hashes that its writer keeps, and keys accepted by the first stage whose run was asked.
  double record_bytes_per_key = 0;
  std::uint64_t excluded = 0;
  std::vector<LsmArm> arms;
};

// Errors: usage, for sizes that make no filter; io, from RocksDB, naming the folder.
[[nodiscard]] Result<LsmReport> run_lsm(const LsmTask &task);
[[nodiscard]] std::string json_of(const LsmReport &report);

} // namespace weir::lab
