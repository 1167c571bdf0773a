// Captures through the real programs, held against the oracle: every packet's verdict, reason and list, and
// the counters of the whole run.
#pragma once

#include "tests/support/oracle.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/replay_run.hpp"

#include <map>
#include <string>
#include <vector>

namespace weir::attack {

class Replays {
public:
  using Lists = std::map<std::string, std::vector<std::string>>; // name -> entries
  Replays(const Policy &policy, const Lists &denied, const Lists &allowed);

  // What became of each frame; test failures where the oracle says otherwise.
  std::vector<test::VerdictRow> judged_like_the_oracle(const std::vector<test::Frame> &frames);
  [[nodiscard]] const test::Oracle &oracle() const { return oracle_; }

private:
  test::ReplayRun run_;
  test::Oracle oracle_;
};

} // namespace weir::attack
