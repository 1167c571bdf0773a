#include "tests/lab/lsm_options.hpp"

#include <CLI/CLI.hpp>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
Keys of 36 bytes with values of 64 stand in --runs sorted runs, RocksDB's table files, which overlap and are never compacted. A lookup
asks filters and reads the runs that they accept, all through the same reader; rocksdb_get is RocksDB's own. Keys
that are there, keys that are not, and Zipf reads of both are asked apart. How often runs are read is counted
and does not depend on the machine; times do, and without --direct all reads come from the page cache once the files have been
written. A lookup's time is the median of its rounds, and percentiles are over lookups. Memory of all filters is what
`chained` takes unless --bits says otherwise.

Table files, about 110 bytes a key, go to a new folder in --folder, or else in TMPDIR, and are removed.

Examples:
  weir-lab lsm --keys 100000                                       a second
  weir-lab lsm --keys 4000000 --runs 7                             as in the paper: a minute, 0.5 GB of files
  weir-lab lsm --keys 16000000 --runs 30                           minutes, 1.8 GB
  weir-lab lsm --only bloom,stacked --bits 8 --skew 0.75
)";

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_lsm(CLI::App &app, LsmTask &t) {
  const auto most = std::uint64_t{1} << 27;
  app.add_option("--keys", t.keys, "entries of all runs together")
      ->check(between<std::uint64_t>(10'000, most))
      ->capture_default_str();
  app.add_option("--runs", t.runs, "sorted runs")->check(between(1u, 64u))->capture_default_str();
  app.add_option("--lookups", t.lookups, "of each kind, in a round")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--rounds", t.rounds, "of all filters by turns")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--skew", t.skew, "exponent of the Zipf reads")
      ->check(between(0.0, 4.0))
      ->capture_default_str();
  app.add_option("--hot", t.hot, "keys that Zipf reads ask for, half of them absent; 0: as many as --keys")
      ->check(between<std::uint64_t>(0, most))
      ->capture_default_str();
  app.add_option("--repeats", t.repeats, "share of a run's keys that earlier runs have in older versions")
      ->check(between(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--bits", t.bits, "bits a key; 0: what `chained` takes")
      ->check(between(0.0, 64.0))
      ->capture_default_str();
  app.add_option("--first-rate", t.delta_share,
                 "of the first stage of `chained`, as a share of the rate that takes least space")
      ->check(between(0.0001, 1.0))
      ->capture_default_str();
  app.add_flag("--direct", t.direct, "read past the page cache (O_DIRECT)");
  app.add_flag("--curve", t.curve, "add all percentiles from P0 to P99");
  app.add_option("--seed", t.seed, "of keys, reads and filters")->capture_default_str();
  app.add_option("--folder", t.folder, "where the folder for table files is made");
  app.add_option("--only", t.only, "filters, with commas between them; all if left out")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(lsm_arm_names.begin(), lsm_arm_names.end()))
                  .description(""));
  app.footer(footer);
}

} // namespace weir::lab
