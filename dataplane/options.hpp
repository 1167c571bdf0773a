// The command line of weir-dataplane:
//
//   weir-dataplane [EAL arguments] -- -c FILE [--run-dir D] [--state-dir D] [--print-totals]
//                  [--target cpp|p4]
//   weir-dataplane -c FILE ... --replay IN --report FILE [--out PASS] [--denied DROP] [--verdicts CSV]
//                  [--loop N] [--rate PPS] [--gate INDEX:GENERATION]...
//
//   weir-dataplane --bypass on|off -c FILE
//
// Without `--` the program builds the EAL arguments itself from weir.yaml.
#pragma once

#include "dataplane/replay/replay_port.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weir::dataplane {

struct ReplayRun {
  ReplayOptions capture;
  std::filesystem::path report; // written at the end, by temporary file and rename
};

struct Options {
  std::string program;
  std::filesystem::path config;
  std::optional<std::filesystem::path> run_dir;   // instead of paths.run
  std::optional<std::filesystem::path> state_dir; // instead of paths.state
  bool print_totals = false;
  bool p4 = false;            // --target p4
  std::optional<bool> bypass; // --bypass on or off, and nothing else
  bool help = false;
  std::optional<std::vector<std::string>> eal_arguments; // given before `--`
  std::optional<ReplayRun> replay;
};

[[nodiscard]] Result<Options> parse_options(const std::vector<std::string> &arguments);
[[nodiscard]] std::string usage_text();

} // namespace weir::dataplane
