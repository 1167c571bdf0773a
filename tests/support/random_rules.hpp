// Random rule sets and frames that look for trouble: 0.0.0.0, ::, the highest addresses, /0, nested
// prefixes of equal address, allow inside deny and deny inside allow, and packets that hit, just
// miss, or do not parse. Everything follows from one seed.
#pragma once

#include "tests/support/oracle.hpp"
#include "tests/support/packets.hpp"
#include "weir/image/layout.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weir::test {

// WEIR_SEED from the environment, else a fixed number. Tests print it when they fail.
[[nodiscard]] std::uint64_t test_seed();

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] std::uint64_t bits() { return engine_(); }
  [[nodiscard]] std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(engine_() % limit);
  }
  [[nodiscard]] bool one_in(std::uint32_t n) { return below(n) == 0; }

private:
  std::mt19937_64 engine_;
};

struct TestList {
  std::string name;
  Side side = Side::deny;
  std::vector<Prefix> prefixes; // unsorted, repeats are possible
  RuleAction on_match = RuleAction::drop;
};

struct RuleSet {
  Policy policy;
  std::vector<TestList> lists; // in configuration order

  [[nodiscard]] Oracle oracle() const;
};

struct RuleShape {
  unsigned lists = 4;
  unsigned prefixes_per_list = 100;
};

[[nodiscard]] Address random_address(Random &random, Family family);
[[nodiscard]] RuleSet random_rules(Random &random, RuleShape shape = {});
[[nodiscard]] Policy random_policy(Random &random);

// An address that a packet should carry to test these rules: inside a prefix, at its edge or just
// beyond it, one of the nasty ones, or any.
[[nodiscard]] Address interesting_address(Random &random, const RuleSet &rules, Family family);

// Frames with such addresses, tagged, with options, extension headers, cut short or damaged at times.
[[nodiscard]] Frame random_frame(Random &random, const RuleSet &rules);

} // namespace weir::test
