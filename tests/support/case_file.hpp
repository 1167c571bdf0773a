// A functional case as written in pcaps/<name>/case.yaml; pcaps/CASES.md describes the format.
#pragma once

#include "tests/support/oracle.hpp"
#include "tests/support/packets.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::test {

struct CaseList {
  std::string name;
  bool allow = false;
  std::vector<std::string> entries;  // what the list means
  std::optional<std::string> text;   // what its file says; default: the entries
  std::string format;                // empty: left to weir
  std::vector<std::string> settings; // further keys, as YAML, for example "on_error: skip"
};

// What a step expects of the packets it sends. Empty: only the oracle judges.
struct CaseExpect {
  std::optional<std::string> verdict, reason, list; // of each packet
  std::map<std::string, std::uint64_t> counts;      // packets, pass, drop
  std::map<std::string, std::uint64_t> reasons, lists;
  std::optional<std::uint64_t> lost;
};

struct CaseStep {
  enum class Kind : std::uint8_t { send, replace, counters } kind = Kind::send;
  int line = 0; // in case.yaml
  std::vector<Frame> frames;
  std::vector<std::pair<std::string, std::vector<std::string>>> replace; // list -> new entries
  CaseExpect expect;
};

struct Case {
  std::string name; // the sentence
  std::filesystem::path folder;
  std::vector<CaseList> lists;
  std::vector<std::pair<std::string, std::string>> policy; // key, word
  std::vector<std::string> never_deny;
  std::optional<std::string> config; // weir.yaml as it is, instead of one made from lists and policy
  std::vector<std::string> refused;  // texts of the refusal that is expected
  std::uint64_t loop = 1;
  std::vector<CaseStep> steps;

  [[nodiscard]] std::string weir_yaml() const;                     // lists read from <list>.txt
  [[nodiscard]] std::string list_text(const CaseList &list) const; // content of that file
  [[nodiscard]] Oracle oracle(std::size_t step) const;             // as in force at a step
  [[nodiscard]] std::vector<Frame> frames() const;                 // of all steps
};

// Throws std::runtime_error with file and line when the case cannot be understood.
[[nodiscard]] Case load_case(const std::filesystem::path &file);

// Every pcaps/*/case.yaml, by name of the folder.
[[nodiscard]] std::vector<std::filesystem::path> find_cases();

} // namespace weir::test
