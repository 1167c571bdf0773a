#include "tests/bench/testpmd.hpp"

#include "tests/bench/gate.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

namespace weir::bench {
namespace {

// A script for its prompt: both modes in turn, each for `seconds`.
std::string command(const Options &options, unsigned rounds, double seconds) {
  const auto mode = [&](const char *name) {
    return fmt::format("echo set fwd {}; echo start tx_first 15; sleep {}; echo stop; ", name, seconds);
  };
  const char *memory = options.eal_hugepages ? "--in-memory -m 64" : "--no-huge --no-shconf -m 128";
  return fmt::format(
      "(sleep 0.8; for i in $(seq {}); do {}{}done; echo quit) | timeout 60 dpdk-testpmd -l 0,1 {} "
      "--no-pci --no-telemetry --log-level=critical --vdev=net_ring0 -- -i --burst=64 "
      "--nb-cores=1 --port-topology=loop --record-core-cycles --total-num-mbufs=4096 2>&1",
      rounds, mode("io"), mode("macswap"), memory);
}

} // namespace

TestpmdFigures run_testpmd(const Options &options) {
  TestpmdFigures figures;
  if (cpus() < 2) return {{}, {}, "needs two CPUs"};
  run_on_all_cpus(); // children inherit it
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(
      popen(command(options, options.quick ? 3 : 9, options.quick ? 0.15 : 0.5).c_str(), "r"), pclose);
  run_on_cpu(0);
  if (!pipe) return {{}, {}, "no process can be started"};

  std::vector<double> io_ns, macswap_ns;
  std::string last;
  char line[512];
  while (std::fgets(line, sizeof line, pipe.get())) {
    if (line[0] > ' ') last = line;
    double cycles = 0;
    unsigned long long total_cycles = 0, packets = 0;
    char mode[16] = {};
    unsigned mhz = 0;
    if (std::sscanf(line, " CPU cycles/packet=%lf (total cycles=%llu / total %15s packets=%llu) at %u MHz",
                    &cycles, &total_cycles, mode, &packets, &mhz) == 5 &&
        mhz > 0)
      (std::string(mode) == "io" ? io_ns : macswap_ns).push_back(cycles * 1e3 / mhz);
  }
  if (io_ns.empty() || macswap_ns.empty()) return {{}, {}, "dpdk-testpmd gave no figures: " + last};
  return {figure_of(io_ns), figure_of(macswap_ns), ""};
}

} // namespace weir::bench
