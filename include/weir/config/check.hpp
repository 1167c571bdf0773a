// What a configuration must satisfy as a whole, once every value in it could be read. Knows lines,
// but nothing of the language that the file is written in.
#pragma once

#include "weir/config/config.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

// Every fault of one file.
class Faults {
public:
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(int line, std::string_view key, std::string_view sentence);
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] std::string text() const; // file:line: key: sentence, in the order of the file

private:
  std::string file_;
  std::vector<std::pair<int, std::string>> lines_;
};

// Where in the file things stand, and what was written there rather than left out.
struct Places {
  std::vector<int> ports, lists; // the line of each
  std::vector<bool> actions;     // of the lists: was an action given?
  bool match_given = false;      // policy.match
  std::optional<int> remote;     // where policy.match says remote
  int last_list = 0;             // the line of `lists`
  std::optional<int> confirm;    // where allow.confirm stands
  int bits_per_key = 0;          // where allow.bits_per_key stands
  int adaptive = 0;              // likewise
  int front_filter = 0;
  int unknown_budget = 0; // where mode.compact has it, else the mode's
};

// Packet rules, each of which knows its line.
void check_rules(const Config &config, Faults &faults);

// Also settles the defaults that depend on other keys: policy.match and allow.confirm.
void check(Config &config, const Places &places, Faults &faults);

// What two peers must have in common, and what a port's device has to be for what it asks (check_ports.cpp).
void check_pairs(const Config &config, const Places &places, Faults &faults);

} // namespace weir::config
