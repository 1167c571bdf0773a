#include "tests/bench/bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>

namespace weir::bench {

namespace {

std::vector<const Benchmark *> &list() { // made by its first user, whichever file that stands in
  static std::vector<const Benchmark *> benchmarks;
  return benchmarks;
}

} // namespace

Benchmark::Benchmark(unsigned order, std::string name, Run function)
    : order_(order), name_(std::move(name)), run_(function) {
  list().push_back(this);
}

std::vector<const Benchmark *> Benchmark::all() {
  std::vector<const Benchmark *> benchmarks = list();
  std::ranges::sort(benchmarks, {}, [](const Benchmark *b) { return std::pair(b->order_, b->name_); });
  return benchmarks;
}

unsigned long free_hugepages() {
  std::ifstream in("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  unsigned long pages = 0;
  in >> pages;
  return pages;
}

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::string with_spread(const Figure &figure) {
  return fmt::format("{} ±{:.0f} %", short_number(figure.median), figure.spread_percent);
}

void show(const Options &options, const std::string &name, const std::string &title, const Grid &grid) {
  fmt::print("\n{}\n{}", title, grid.text());
  std::fflush(stdout);
  std::filesystem::create_directories(options.out);
  const std::string path = options.out + "/" + name + ".md";
  if (!(std::ofstream(path) << grid.markdown())) give_up("cannot write " + path);
}

JsonLines::JsonLines(const Options &options, const std::string &name) {
  std::filesystem::create_directories(options.out);
  const std::string path = options.out + "/" + name + ".jsonl";
  file_ = std::fopen(path.c_str(), "w");
  if (!file_) give_up("cannot write " + path);
}

JsonLines::~JsonLines() { std::fclose(file_); }

JsonLines::Field::Field(std::string n, double value)
    : name(std::move(n)), json(fmt::format("{:.6g}", value)) {}

void JsonLines::line(const std::vector<Field> &fields) {
  std::string text;
  for (const Field &field : fields)
    text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", field.name, field.json);
  std::fputs((text + "}\n").c_str(), file_);
  std::fflush(file_);
}

Region::Region(std::size_t bytes) : bytes_(bytes), mapped_bytes_(round_up(bytes, 2u << 20)) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void *data = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);
  hugepages_ = data != MAP_FAILED;
  if (!hugepages_) data = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data == MAP_FAILED) give_up(fmt::format("no memory for {} MiB", mapped_bytes_ >> 20));
  data_ = static_cast<std::byte *>(data);
}

Region::~Region() { munmap(data_, mapped_bytes_); }

void give_up(const std::string &why) {
  fmt::print(stderr, "weir-bench: {}\n", why);
  std::exit(1);
}

} // namespace weir::bench
