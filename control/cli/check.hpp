// `weirctl check`: a configuration and its lists, read as weir-control reads them, without a daemon.
#pragma once

#include "control/rules/feed.hpp"
#include "control/rules/flows.hpp"
#include "control/rules/normalise.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <vector>

namespace weir::cli {

struct ReadRules {
  config::Config config;
  std::vector<rules::ListContent> contents; // in the order of the configuration
  std::vector<rules::RuleFlows> flows;      // of packet rules that have a file
  rules::Effective effective;
  std::vector<std::string> warnings; // of the guards
};
// One error with every fault of every file, one a line. `progress` is told what was read.
[[nodiscard]] Result<ReadRules> read_rules(const std::filesystem::path &file,
                                           control::Progress *progress = nullptr);

// Fields config, lists[{name, action, format, v4_hosts, v4_prefixes, v6, duplicates, skipped}],
// rules[{name, action, patterns | flows}], conflicts[text] and warnings[text]; or one error with every fault of
// every file, one a line.
[[nodiscard]] Result<nlohmann::json> check_configuration(const std::filesystem::path &file,
                                                         control::Progress *progress = nullptr);

} // namespace weir::cli
