// weir-bench: what is asked, beside its peer and its limit, in one process. `make bench` runs it.
#include "tests/bench/bench.hpp"

#include <fmt/core.h>
#include <rte_eal.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace weir::bench {
namespace {

unsigned long free_hugepages() {
  std::ifstream in("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  unsigned long pages = 0;
  in >> pages;
  return pages;
}

// The peer's tables live in EAL memory, weir's and LIMIT's in mappings of their own; all of them on
// 2 MiB pages or all on ordinary ones.
bool start_eal() {
  constexpr unsigned long pages_wanted = 600; // 10M keys: 180 for rte_hash, 60 for each other table
  const bool hugepages = free_hugepages() >= pages_wanted;
  std::vector<std::string> arguments{"weir-bench",           "--no-pci", "--no-telemetry",
                                     "--log-level=critical", "-l",       "0"};
  if (hugepages)
    arguments.emplace_back("--in-memory");
  else
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "-m", "1024"});
  std::vector<char *> argv;
  for (std::string &argument : arguments) argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) give_up("EAL does not start");
  return hugepages;
}

void print_standings(const Options &options, const std::vector<Standing> &standings) {
  JsonLines lines(options, "standings");
  fmt::print("\nwhere we stand (floors and aims are ratios or units of one core)\n");
  fmt::print("{:<66} {:>8} {:>8} {:>8}\n", "", "floor", "aim", "now");
  for (const Standing &s : standings) {
    std::string now = "-", word = "not measured";
    if (s.measured) {
      const double sign = s.less_is_better ? -1 : 1;
      word = sign * *s.measured >= sign * s.aim     ? "aim"
             : sign * *s.measured >= sign * s.floor ? "floor"
                                                    : "below floor";
      now = fmt::format("{:.3g}", *s.measured);
    }
    fmt::print("{:<66} {:>8.3g} {:>8.3g} {:>8}  {}\n", s.what, s.floor, s.aim, now, word);
    lines.line({{"what", s.what},
                {"floor", s.floor},
                {"aim", s.aim},
                {"standing", word},
                {"measured", s.measured.value_or(0)}});
  }
}

} // namespace
} // namespace weir::bench

int main() {
  using namespace weir::bench;
  Options options;
  const char *quick = std::getenv("BENCH_QUICK");
  options.quick = quick && std::string(quick) != "0";
  options.eal_hugepages = start_eal();
  fmt::print("memory: {}\n",
             options.eal_hugepages ? "hugepages (2 MiB)" : "ordinary pages (not enough hugepages free)");

  std::vector<Standing> standings;
  bench_lookup(options, standings);
  bench_memory(options, standings);
  bench_swap(options, standings);
  print_standings(options, standings);
  return 0;
}
