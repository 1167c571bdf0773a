// weir-bench: what is asked, beside its peer and its limit, in one process. `make bench` runs it.
#include "control/plan/calibration.hpp"
#include "tests/bench/bench.hpp"

#include <fmt/core.h>
#include <rte_eal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace weir::bench {
namespace {

// The peer's tables live in EAL memory, weir's and LIMIT's in mappings of their own; all of them on
// 2 MiB pages or all on ordinary ones.
bool start_eal() {
  constexpr unsigned long pages_wanted = 700; // 10M keys: 180 for rte_hash, 60 for each other table
  const bool hugepages = free_hugepages() >= pages_wanted;
  std::vector<std::string> arguments{
      "weir-bench",
      "--no-pci",
      "--no-telemetry",
      "--log-level=critical",
      "-l",
      "0",
      "--force-max-simd-bitwidth=512"}; // lets rte_fib and rte_fib6 use their fastest lookups
  if (hugepages)
    arguments.emplace_back("--in-memory");
  else
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "-m", "1024"});
  std::vector<char *> argv;
  for (std::string &argument : arguments) argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) give_up("EAL does not start");
  return hugepages;
}

// What a reader must know about the run before any figure.
std::string conditions(const Options &options) {
  const plan::Machine machine = plan::this_machine();
  const auto cache_size = [](std::uint64_t bytes) {
    return bytes == 0 ? "unknown" : fmt::format("{}K", bytes >> 10);
  };
  double load = 0;
  (void)getloadavg(&load, 1);
  return fmt::format("{} run of {} rounds, {}; {} processors, L2 {}, L3 {}, load {:.1f} at start",
                     options.quick ? "quick" : "full", options.rounds(),
                     options.eal_hugepages ? "hugepages (2 MiB)" : "ordinary pages",
                     std::thread::hardware_concurrency(), cache_size(machine.l2_bytes),
                     cache_size(machine.l3_bytes), load);
}

Options options_from_environment() {
  const auto is_set = [](const char *name) {
    const char *value = std::getenv(name);
    return value && *value && std::string(value) != "0";
  };
  Options options;
  options.quick = is_set("BENCH_QUICK");
  options.assert = is_set("BENCH_ASSERT");
  if (const char *only = std::getenv("BENCH_ONLY")) options.only = only;
  return options;
}

void check_names(const Options &options) {
  std::string names;
  for (const Benchmark *b : Benchmark::all()) names += (names.empty() ? "" : ",") + b->name();
  std::istringstream wanted(options.only);
  for (std::string name; std::getline(wanted, name, ',');)
    if (!is_named(names, name))
      give_up(fmt::format("BENCH_ONLY names '{}', which is none of {}", name, names));
}

void write_standings(const Options &options, const std::vector<Standing> &standings) {
  JsonLines lines(options, "standings");
  for (const Standing &s : standings)
    lines.line({{"what", s.what},
                {"floor", s.floor},
                {"aim", s.aim},
                {"standing", words_of(s)},
                {"measured", s.measured.value_or(0)},
                {"spread_percent", s.spread_percent}});
}

int run() {
  Options options = options_from_environment();
  check_names(options);
  options.eal_hugepages = start_eal();
  const std::string under = conditions(options);
  fmt::print("{}\n", under);
  std::filesystem::create_directories(options.out);
  for (const auto &file : std::filesystem::directory_iterator(options.out)) // tables are those of one run
    if (file.path().extension() == ".md") std::filesystem::remove(file.path());
  std::ofstream(options.out + "/conditions.md") << under << '\n';

  std::vector<Standing> standings;
  const auto start = Clock::now();
  for (const Benchmark *benchmark : Benchmark::all())
    if (is_named(options.only, benchmark->name())) benchmark->run(options, standings);

  write_standings(options, standings);
  show(options, options.only.empty() ? "standings" : "standings_partial",
       "where we stand, one core (less is better where the target names a time, bytes or lines)",
       grid_of(standings));
  const std::size_t missed = floors_missed(standings);
  fmt::print("\n{} targets, {} floors missed, {:.0f} s\n", standings.size(), missed, ns_since(start) / 1e9);
  return options.assert &&missed > 0 ? 1 : 0;
}

} // namespace
} // namespace weir::bench

int main() { return weir::bench::run(); }
