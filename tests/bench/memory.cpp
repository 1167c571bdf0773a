// Bytes an entry, and the time from sorted entries in memory to a sealed image that was asked every key.
#include "control/plan/host_home.hpp"
#include "tests/bench/candidates.hpp"
#include "tests/bench/regret.hpp"

#include <fmt/core.h>

namespace weir::bench {
namespace {

struct Report {
  JsonLines lines;
  Grid grid;
};

double bytes_per_entry(const build::TableReport &table) {
  return static_cast<double>(table.bytes) / static_cast<double>(table.keys);
}

void add_row(Report &to, const std::string &what, const build::TableReport &table,
             const build::BuildReport &report, const Figure &total_ms) {
  const auto mib = [](std::uint64_t bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20));
  };
  to.grid.rows.push_back({what, fmt::format("{:.2f}", bytes_per_entry(table)), mib(table.bytes),
                          mib(report.image_bytes), fmt::format("{:.0f}", report.build_ms),
                          fmt::format("{:.0f}", report.verify_ms), with_spread(total_ms),
                          fmt::format("{:.3f}", table.load), std::to_string(table.in_stash)});
  to.lines.line({{"bench", "memory"},
                 {"what", what},
                 {"keys", table.keys},
                 {"bytes_per_entry", bytes_per_entry(table)},
                 {"table_bytes", table.bytes},
                 {"image_bytes", report.image_bytes},
                 {"build_ms", report.build_ms},
                 {"verify_ms", report.verify_ms},
                 {"total_ms", total_ms.median},
                 {"load", table.load},
                 {"in_table2", table.in_table2},
                 {"in_stash", table.in_stash}});
}

// Sorted entries to an attached image, `times` over; the last one's report.
template <class Make>
build::BuildReport time_builds(unsigned times, std::vector<double> &totals_ms, Make make) {
  build::BuildReport report;
  for (unsigned i = 0; i < times; ++i) {
    const auto start = Clock::now();
    const Image image = make();
    totals_ms.push_back(ns_since(start) / 1e6);
    report = image.report();
  }
  return report;
}

void bench_memory(const Options &options, std::vector<Standing> &standings) {
  Report to{JsonLines(options, "memory"),
            {{"entries", "bytes an entry", "table MiB", "image MiB", "build ms", "ask every key ms",
              "total ms", "load", "in stash"},
             {}}};
  const unsigned times = options.quick ? 1 : 5;
  for (const std::uint32_t keys : {1'000'000u, 10'000'000u}) {
    const auto entries = make_entries(keys);
    std::vector<double> totals_ms;
    const auto report = time_builds(times, totals_ms, [&] { return Image(entries, {}, false); });
    add_row(to, count_words(keys) + " IPv4", report.deny_v4, report, figure_of(totals_ms));
    totals_ms.clear();
    build::BuildReport in_words =
        time_builds(times, totals_ms, [&] { return Image(entries, {}, {}, 1, build::HostHome::words); });
    in_words.deny_v4.keys = in_words.words.hosts;
    in_words.deny_v4.bytes = in_words.deny_v4_bytes();
    add_row(to, count_words(keys) + " IPv4, in words", in_words.deny_v4, in_words, figure_of(totals_ms));
    const auto home = plan::weigh_homes(entries, 0.1, calibration(options)).home;
    const bool small = keys == 1'000'000, words = home == build::HostHome::words;
    standings.push_back(
        standing(fmt::format("bytes an IPv4 host where the plan has it, {} random", count_words(keys)),
                 small ? 10.5 : 6.5, small ? 9.5 : 5.3,
                 {bytes_per_entry(words ? in_words.deny_v4 : report.deny_v4), 0}, true));
  }
  const auto entries = make_entries_v6(1'000'000);
  std::vector<double> totals_ms;
  const auto report = time_builds(times, totals_ms, [&] { return Image({}, entries, false); });
  add_row(to, "1M IPv6", report.deny_v6, report, figure_of(totals_ms));
  standings.push_back(
      standing("bytes an IPv6 host, 1M random", 26.5, 24, {bytes_per_entry(report.deny_v6), 0}, true));
  show(options, "memory", "memory and build time of images, one list of hosts", to.grid);
}

const Benchmark memory_benchmark{20, "memory", bench_memory};

} // namespace
} // namespace weir::bench
