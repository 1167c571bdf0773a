// The command line of weir-dataplane:
//
//   weir-dataplane [EAL arguments] -- -c FILE [--run-dir D] [--state-dir D] [--print-totals]
//   weir-dataplane -c FILE ... --replay IN --report FILE [--out PASS] [--denied DROP] [--verdicts CSV]
//                  [--loop N] [--rate PPS] [--gate INDEX:GENERATION]...
//
// Without `--` the program builds the EAL arguments itself from weir.yaml.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weir::dataplane {

// Holds back packet `index` (0-based, over all loops) until a generation >= `generation` is live.
struct Gate {
  std::uint64_t index = 0;
  std::uint64_t generation = 0;
};

struct ReplayOptions {
  std::filesystem::path input;
  std::filesystem::path report;
  std::filesystem::path passed;   // empty: not written
  std::filesystem::path denied;   // empty: not written
  std::filesystem::path verdicts; // empty: not written
  std::uint64_t loops = 1;
  double rate_pps = 0; // 0: as fast as it goes
  std::vector<Gate> gates;
};

struct Options {
  std::string program;
  std::filesystem::path config;
  std::optional<std::filesystem::path> run_dir;   // instead of paths.run
  std::optional<std::filesystem::path> state_dir; // instead of paths.state
  bool print_totals = false;
  bool help = false;
  std::optional<std::vector<std::string>> eal_arguments; // given before `--`
  std::optional<ReplayOptions> replay;
};

[[nodiscard]] Result<Options> parse_options(const std::vector<std::string> &arguments);
[[nodiscard]] std::string usage_text();

} // namespace weir::dataplane
