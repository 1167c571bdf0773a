// Shared by the benchmarks: options, medians over interleaved rounds, JSON lines.
//
// Contenders of one question take turns: round 1 of each, then round 2 of each, so that a machine
// that slows down for a while slows all of them. A figure is the median over rounds; its spread is
// half the distance between the quartiles, in percent of the median.
#pragma once

#include "weir/base/bits.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::bench {

struct Options {
  bool quick = false; // BENCH_QUICK=1: fewer rounds, smaller tables
  bool eal_hugepages = false;
  std::string out = "build/bench";
  [[nodiscard]] unsigned rounds() const { return quick ? 5 : 15; }
};

struct Figure {
  double median = 0;
  double spread_percent = 0;
};

[[nodiscard]] Figure figure_of(std::vector<double> samples);

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Time that this thread spent on a CPU: neighbours on the machine count for what they do to the
// caches, not for the turns they take.
[[nodiscard]] double cpu_ns();

// One JSON object a line in <out>/<name>.jsonl, replaced at the first line of a run.
class JsonLines {
public:
  JsonLines(const Options &options, const std::string &name);
  ~JsonLines();
  JsonLines(const JsonLines &) = delete;
  JsonLines &operator=(const JsonLines &) = delete;

  struct Field {
    std::string name;
    std::string json; // as it shall stand there
    Field(std::string n, const char *text) : name(std::move(n)), json('"' + std::string(text) + '"') {}
    Field(std::string n, const std::string &text) : Field(std::move(n), text.c_str()) {}
    Field(std::string n, double value);
    Field(std::string n, std::uint64_t value) : name(std::move(n)), json(std::to_string(value)) {}
  };
  void line(const std::vector<Field> &fields);

private:
  std::FILE *file_;
};

// A row of the closing table: a figure beside the floor and the aim that it is held against.
struct Standing {
  std::string what;
  double floor = 0, aim = 0;
  std::optional<double> measured; // none: not measured by this program yet
  bool less_is_better = false;
};

// Memory that a contender's table lives in: 2 MiB pages when there are free ones, else ordinary.
class Region {
public:
  explicit Region(std::size_t bytes);
  ~Region();
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;
  [[nodiscard]] MutableBytes bytes() const { return {data_, bytes_}; }
  [[nodiscard]] bool hugepages() const { return hugepages_; }

private:
  std::byte *data_ = nullptr;
  std::size_t bytes_ = 0, mapped_bytes_ = 0;
  bool hugepages_ = false;
};

// Ends the program with a message: a benchmark that measured something wrong must not print.
[[noreturn]] void give_up(const std::string &why);

void bench_lookup(const Options &options, std::vector<Standing> &standings);
void bench_memory(const Options &options, std::vector<Standing> &standings);
void bench_swap(const Options &options, std::vector<Standing> &standings);

} // namespace weir::bench
