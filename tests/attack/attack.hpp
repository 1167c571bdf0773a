// What attacks share: how long they go on, and under which seeds.
//
//   WEIR_ATTACK_SECONDS=N   for all attacks together, each the same share (90)
//   WEIR_SEED=N             the first round's seed; the next rounds take N + 1, N + 2, ...
#pragma once

#include "tests/support/random_rules.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace weir::attack {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using test::Random;

class Attack : public ::testing::Test {
protected:
  // Calls `round` with fresh choices while its share of the time has room for another one as long as the
  // longest so far; once at least, and no more after a failure.
  static void rounds(const std::string &name, const std::function<void(Random &)> &round);
  // Prints what a round has measured; that of a failed one comes again at the end, behind what programs said.
  static void say(const std::string &figures);
};

// The longest that something took, measured again and again by a thread of its own: what no program could
// have helped, for bounds in parts of a second.
class Beside {
public:
  explicit Beside(std::function<double()> measure_s);
  ~Beside();
  Beside(const Beside &) = delete;
  Beside &operator=(const Beside &) = delete;
  [[nodiscard]] double worst_s() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

// How late this machine wakes a thread that wants to sleep for a millisecond.
class Lateness : public Beside {
public:
  Lateness();
};

// How long its disk takes over a synced write of one record in a folder, fifty times a second.
class SyncedWrites : public Beside {
public:
  explicit SyncedWrites(const std::filesystem::path &folder);
};

} // namespace weir::attack
