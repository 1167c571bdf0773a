// Shared by the benchmarks: options, the list of them, tables, JSON lines, memory.
//
// A benchmark is a function of a file of its own, which puts itself on the list:
//
//   void bench_swap(const Options &options, std::vector<Standing> &standings) { ... }
//   const Benchmark swap_benchmark{50, "swap", bench_swap};
//
// It prints what it measured as a Table (and so into build/bench/<name>.md and docs/performance.md),
// writes JSON lines for the figures, and hands over one Standing for each target that it answers for,
// also for those that it could not measure. Medians and standings: tests/support/standings.hpp.
#pragma once

#include "tests/support/standings.hpp"
#include "weir/base/bits.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weir::bench {

struct Options {
  bool quick = false;  // BENCH_QUICK=1: fewer rounds, tables of up to 10M keys
  bool assert = false; // BENCH_ASSERT=1: a missed floor is a failure
  std::string only;    // BENCH_ONLY=name[,name]: these benchmarks alone
  bool eal_hugepages = false;
  std::string out = "build/bench";
  [[nodiscard]] unsigned rounds() const { return quick ? 5 : 15; }
};

// One benchmark on the list of all; they run in ascending `order`.
class Benchmark {
public:
  using Run = void (*)(const Options &, std::vector<Standing> &);
  Benchmark(unsigned order, std::string name, Run function);
  [[nodiscard]] const std::string &name() const { return name_; }
  void run(const Options &options, std::vector<Standing> &standings) const { run_(options, standings); }

  [[nodiscard]] static std::vector<const Benchmark *> all(); // in order

private:
  unsigned order_;
  std::string name_;
  Run run_;
};

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Time that this thread spent on a CPU: neighbours on the machine count for what they do to the
// caches, not for the turns they take.
[[nodiscard]] double cpu_ns();

[[nodiscard]] unsigned long free_hugepages(); // of 2 MiB

// "48.9 ±3 %"
[[nodiscard]] std::string with_spread(const Figure &figure);

// Prints the grid below its title, and writes it to <out>/<name>.md.
void show(const Options &options, const std::string &name, const std::string &title, const Grid &grid);

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

} // namespace weir::bench
