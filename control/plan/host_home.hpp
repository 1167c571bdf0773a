// Where the IPv4 hosts of the deny side stand: in a cuckoo table, in the range map that has the prefixes, as ranges of
// one address or as points (table/range_line.hpp), or one word each (table/word_line.hpp). A model of what a question costs
// in each:
//
//   table   ns of the best predictor (cost.hpp), t; beside prefixes
//             w + a (t - 0.6 w)          the table, asked where the /16 has hosts
//           + b (0.6 w + touch(map))     the map, asked where the /16 has prefixes
//           + 0.45 w A B                 both in a burst
//           + 0.35 (A - a) (t - w)       a burst that waits for few lines
//           + 2 w a (1 - a)              branches that cannot be predicted
//   map     near + c (far - near)        one line, in cache, of ranges or of points; its /16 in L1 or not
//         + touch(all lines) lines
//         + 1.4 w (lines - 1)            a line of the map that another line leads to, which is known late
//   words   work of words + touch(lines) in place of t
//
//   w       work of a question to a small table, at the share of hits
//   a, b    shares of the questions that ask the table, and the map of the prefixes alone; A, B: of bursts of 64 that do
//   c       share of the questions whose /16 is not in L1
//   lines   of the map for an answer: for hosts and for addresses at random, by the share of hits
//
// The factors are those of one processor (docs/decisions.md, "Hosts in the map"); work, near, far and touch() are measured
// where the planner runs. How many lines the map has, and an answer takes, is counted in one pass over the entries.
#pragma once

#include "control/plan/calibration.hpp"
#include "weir/build/input.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::plan {

// Of a range map of these entries, about.
struct MapShape {
  std::uint64_t lines = 0, bytes = 0;
  double lines_hit = 1, lines_absent = 1; // of an answer: for a host; for an address at random
};
// `entries` sorted.
[[nodiscard]] MapShape map_shape(std::span<const build::EntryV4> entries, bool points);

struct HomeCost {
  build::HostHome home = build::HostHome::table;
  double ns = 0;
  bool filtered = false;   // a table behind a front filter
  std::uint64_t bytes = 0; // of the map, or of the words; 0: of a table
  double lines_a_cell = 0; // of a /16 with hosts: what one that comes has written anew
};

struct HomeChoice {
  build::HostHome home = build::HostHome::table;
  std::string why;             // empty: there was nothing to choose
  std::vector<HomeCost> costs; // of those that were weighed
};

[[nodiscard]] constexpr const char *name_of(build::HostHome home) noexcept {
  switch (home) {
  case build::HostHome::table: break;
  case build::HostHome::ranges: return "ranges";
  case build::HostHome::points: return "points";
  case build::HostHome::words: return "words";
  }
  return "table";
}

// What a map has to save beside a table and beside words, where hosts come and go five times as fast and more. A table itself has to
// save something beside words, which are changed as fast and take two thirds of the bytes, and so has one behind a filter, whose cost
// is predicted less well, beside a map.
inline constexpr double map_saving_min = 0.05, table_saving_min = 0.1;

// Beside a dynamic list hosts that stand alone go into a map only where more than
// some 100,000 can come a second (measured: points of 3 million, 4.8 lines, 130,000 to 170,000).
inline constexpr double lines_a_cell_max = 6;

// By cost, and by the pace of a dynamic list if there is one.
[[nodiscard]] HomeChoice weigh_homes(std::span<const build::EntryV4> entries, double hit_ratio,
                                     const Calibration &calibration, bool has_dynamic = false,
                                     bool words_may_be = true);
// As the configuration allows it.
[[nodiscard]] HomeChoice choose_home(const build::BuildInput &input, const config::Config &config,
                                     double hit_ratio, const Calibration &calibration);

} // namespace weir::plan
