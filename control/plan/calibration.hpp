// What a lookup costs on this processor: measured once, kept in the state directory, read by the
// cost model (cost.hpp).
//
//   work    ns of one question with everything in the nearest caches, for each family, front filter
//           and predictor, at no hits, one in a burst, half and all: the slope and the humps of mispredicted branches; the same of
//           IPv4 hosts in words, and of a range map, whose /16 is in L1 or is not
//   touch   further ns for a line at random out of so many bytes, by the way it is reached: a line of a
//           table, a block of a front filter, a line behind a chained predictor with its bits, a block of a filter of
//           a sixth of the bytes and a line for one of a burst's questions alone, which it let through, or for
//           nine. Rises with every cache that the bytes outgrow
//   build   ns of building and asking again one key of a table that stays in cache
//
// The file is text, `key values...` a line, made by to_text(). It belongs to one processor and one
// kind of pages; another processor or a damaged file leads to a new measurement, never to an error
// for the caller. Where nothing can be measured the built-in figures serve, and `note` says so.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/input.hpp"
#include "weir/key/address.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weir::plan {

enum class FrontFilter : std::uint8_t { none, split_block_bloom };
using build::Predictor;

[[nodiscard]] constexpr const char *name_of(FrontFilter f) noexcept {
  return f == FrontFilter::none ? "none" : "split_block_bloom";
}
[[nodiscard]] constexpr const char *name_of(Predictor p) noexcept {
  return p == Predictor::inline_bits ? "inline_bits" : "chained";
}

struct Option { // a candidate
  FrontFilter front_filter = FrontFilter::none;
  Predictor predictor = Predictor::inline_bits;
  friend constexpr bool operator==(Option, Option) = default;
};
inline constexpr std::array<Option, 4> all_options{{{FrontFilter::none, Predictor::inline_bits},
                                                    {FrontFilter::none, Predictor::chained},
                                                    {FrontFilter::split_block_bloom, Predictor::inline_bits},
                                                    {FrontFilter::split_block_bloom, Predictor::chained}}};

struct Work {                                  // ns of a question
  static constexpr double few_hits = 1.0 / 64; // one of a burst
  double absent = 0, few = 0, even = 0, hit = 0;
  // Through the four points: a parabola, and what it costs a burst to have any hit at all, which a third of the bursts have
  // not at `few`.
  [[nodiscard]] double at(double hit_ratio) const noexcept;
};

// ns of a question that one line of a range map of IPv4 answers.
struct MapWork {
  double near = 0, far = 0; // its /16 is in L1; it is any of all
};

enum class Path : std::uint8_t { line, block, chained, few, several };
inline constexpr std::array<Path, 5> all_paths{Path::line, Path::block, Path::chained, Path::few,
                                               Path::several};
[[nodiscard]] constexpr const char *name_of(Path p) noexcept {
  constexpr std::array<const char *, all_paths.size()> names{"line", "block", "chained", "few", "several"};
  return names[static_cast<std::size_t>(p)];
}

// Of the questions, those that a block accepts by its eight bits where so many of 32 are set: 19 let one of 65 through.
[[nodiscard]] constexpr double sieve_share(unsigned set_of_32) noexcept {
  double share = 1;
  for (unsigned i = 0; i < 8; ++i) share *= set_of_32 / 32.0;
  return share;
}

struct TouchPoint {
  std::uint64_t bytes = 0;
  double ns = 0;
};

enum class Pages : std::uint8_t { ordinary, huge };
[[nodiscard]] constexpr const char *name_of(Pages p) noexcept {
  return p == Pages::huge ? "hugepages" : "ordinary";
}

struct Calibration {
  std::string processor; // name, family, model, stepping
  Pages pages = Pages::ordinary;
  std::uint64_t seed = 0; // of the measurement
  std::uint64_t l2_bytes = 0, l3_bytes = 0;
  std::array<std::array<std::array<Work, 2>, 2>, 2> work{};    // [family][front filter][predictor]
  Work in_words;                                               // hosts of IPv4 in one word each
  MapWork in_ranges, in_points;                                // of a map whose lines have such hosts
  std::array<std::vector<TouchPoint>, all_paths.size()> touch; // [path], by rising bytes, ns never falling
  double build_ns = 0;
  double took_ms = 0;    // the measurement
  bool measured = false; // here, now or earlier; false: built-in figures
  std::string note;      // for people: where the figures come from

  [[nodiscard]] const Work &work_of(Family family, Option option) const noexcept;
  [[nodiscard]] Work &work_of(Family family, Option option) noexcept;
  // Of a question; `few`, `several`: of every question, where one of a burst goes on from the filter to a line, or nine.
  [[nodiscard]] double touch_ns(Path path, std::uint64_t bytes) const noexcept;
  // Of a question, where a share of them goes on to a line at random, reached by `path`: nothing hides what the first ones of a
  // burst wait for. Straight between the shares that were measured.
  [[nodiscard]] double some_touch_ns(double share, Path path, std::uint64_t bytes) const noexcept;
  // What one more layer of a filter takes. It spares the table's work as well, so that it takes more than the difference between
  // a question with a filter and one without where few hit.
  [[nodiscard]] double layer_ns(Family family, double hit_ratio) const noexcept;
  // Of the table's bytes: the filter of `few` and `several`, as large as plans have it.
  static constexpr std::uint64_t few_filter_part = 6;
  // Of 32 bits of these filters, those that are set; and of the questions, those that go on to a line in `several`: nine of a burst.
  static constexpr unsigned few_set = 19, several_set = 25;
  static constexpr double several_share = sieve_share(several_set);
};

// Figures of server processors, work of one of 2024 and memory of one of 2023, for when nothing was measured.
[[nodiscard]] Calibration built_in_calibration();

[[nodiscard]] std::string to_text(const Calibration &calibration);
// Faults name file, line, value and remedy; `file` is for messages.
[[nodiscard]] Result<Calibration> parse_calibration(const std::string &text,
                                                    const std::filesystem::path &file);

struct Machine {
  std::string processor;
  std::uint64_t l2_bytes = 0, l3_bytes = 0; // of one core; 0: nobody tells
};
// `root` is "/" but in tests.
[[nodiscard]] Machine this_machine(const std::filesystem::path &root = "/");

// Sizes that are 0 become those of the machine, or else the built-in ones: with no L2 nothing would seem to fit in it.
void fill_in_caches(Calibration &calibration, const Machine &machine);

// The kept figures of `state`, or measured now and kept there.
struct Wanted {
  std::filesystem::path state; // empty: built-in figures
  Pages pages = Pages::ordinary;
  std::uint64_t memory_bytes_max = 0; // what a measurement may take for a moment
  std::uint64_t keys = 0;             // of the plan; a few keys are not worth a measurement
};
inline constexpr std::uint64_t keys_worth_measuring = 100'000;
[[nodiscard]] Calibration calibration_for(const Wanted &wanted);

[[nodiscard]] std::filesystem::path calibration_file(const std::filesystem::path &state, Pages pages);

} // namespace weir::plan
