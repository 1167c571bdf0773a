// Bytes an entry, and the time from sorted entries in memory to a sealed image.
#include "tests/bench/contenders.hpp"

#include <fmt/core.h>

namespace weir::bench {
namespace {

void print_row(JsonLines &lines, const char *what, const build::TableReport &table,
               const build::BuildReport &report, double total_ms) {
  const double entry_bytes = static_cast<double>(table.bytes) / static_cast<double>(table.keys);
  fmt::print("{:<14} {:>6.2f} {:>10.1f} {:>10.1f} {:>9.0f} {:>9.0f} {:>9.0f} {:>8.3f} {:>8}\n", what,
             entry_bytes, static_cast<double>(table.bytes) / (1 << 20),
             static_cast<double>(report.image_bytes) / (1 << 20), report.build_ms, report.verify_ms, total_ms,
             table.load, table.in_stash);
  lines.line({{"bench", "memory"},
              {"what", what},
              {"keys", table.keys},
              {"bytes_per_entry", entry_bytes},
              {"table_bytes", table.bytes},
              {"image_bytes", report.image_bytes},
              {"build_ms", report.build_ms},
              {"verify_ms", report.verify_ms},
              {"total_ms", total_ms},
              {"load", table.load},
              {"in_table2", table.in_table2},
              {"in_stash", table.in_stash}});
}

} // namespace

static void bench_memory(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "memory");
  fmt::print("\nmemory and build time\n{:<14} {:>6} {:>10} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}\n", "",
             "B/key", "table MiB", "image MiB", "build ms", "verify ms", "total ms", "load", "stash");
  for (const std::uint32_t keys : {1'000'000u, 10'000'000u}) {
    const auto entries = make_entries(keys);
    std::vector<double> totals;
    for (unsigned i = 0; i < (options.quick ? 1u : 3u); ++i) {
      const auto start = Clock::now();
      const Image image(entries, {}, false); // built, every key asked, attached
      totals.push_back(ns_since(start) / 1e6);
      if (i > 0) continue;
      const build::TableReport &table = image.report().deny_v4;
      print_row(lines, fmt::format("{}M IPv4", keys / 1'000'000).c_str(), table, image.report(), totals[0]);
      standings.push_back({fmt::format("bytes per IPv4 entry, {}M", keys / 1'000'000), 10.5, 9.5,
                           static_cast<double>(table.bytes) / static_cast<double>(table.keys), true});
    }
    if (keys == 10'000'000)
      standings.push_back(
          {"image of 10M entries, sorted memory to attached, s", 3, 1, figure_of(totals).median / 1e3, true});
  }
  const auto entries = make_entries_v6(1'000'000);
  const auto start = Clock::now();
  const Image image({}, entries, false);
  const build::TableReport &table = image.report().deny_v6;
  print_row(lines, "1M IPv6", table, image.report(), ns_since(start) / 1e6);
  standings.push_back({"bytes per IPv6 entry, 1M", 28, 24,
                       static_cast<double>(table.bytes) / static_cast<double>(table.keys), true});
}

static const Benchmark memory_benchmark{20, "memory", bench_memory};

} // namespace weir::bench
