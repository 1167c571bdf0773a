// Processes stopped, killed and started again, in any order.
#include "tests/support/seed.hpp"
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

namespace weir::test {

namespace {

using Json = nlohmann::json;

class Faults : public Gate {
protected:
  static constexpr const char *lists =
      "- {name: nets, action: deny, entries: [192.0.2.15, 2001:db8:bad::/48]}\n"
      "- {name: bans, action: deny, dynamic: true}\n";
  static constexpr const char *listed = "192.0.2.15"; // a client address on a list from the start

  bool passes(const std::string &from) { return network().ping(GatedNetwork::server4, from); }

  std::set<std::string> exported(const std::string &list) {
    const auto file = pair().folder() / "export.txt";
    pair().must({"list", "export", list, file});
    std::istringstream lines(read_text(file));
    std::set<std::string> entries;
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find_first_of(" #;\t"));
      if (line.ends_with("/32")) line.resize(line.size() - 3);
      if (!line.empty()) entries.insert(line);
    }
    return entries;
  }
};

// Changes the list "bans" while processes are killed, and keeps what weirctl acknowledged.
class RandomKills : public Faults {
protected:
  std::uint64_t pick(std::uint64_t choices) { return random_() % choices; }

  // At a random moment the victims die; one change is in flight then, and may or may not have happened.
  void change_until_killed(unsigned victims) {
    const auto kill_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50 + pick(400));
    bool killed = false;
    while (!killed) {
      const bool host = pick(4) == 0; // sometimes an address that traffic can ask for
      const std::string entry =
          host ? fmt::format("192.0.2.{}", 11 + pick(hosts)) : numbered_address(pick(addresses));
      const bool add = !model_.contains(entry);
      Child change({.arguments = {program("weirctl"), "-s", pair().folder() / "run" / "control.sock", "list",
                                  add ? "add" : "del", "bans", entry}});
      while (!killed && change.running()) {
        killed = std::chrono::steady_clock::now() >= kill_at;
        if (killed && (victims & 1)) pair().control().signal(SIGKILL);
        if (killed && (victims & 2)) pair().dataplane().signal(SIGKILL);
        std::this_thread::sleep_for(1ms);
      }
      const auto code = change.wait(20s);
      ASSERT_TRUE(code) << "weirctl hangs after a kill";
      if (*code != 0)
        uncertain_.insert(entry);
      else
        take(entry, add);
    }
    if (victims & 1) (void)pair().control().wait(10s);
    if (victims & 2) (void)pair().dataplane().wait(10s);
  }

  void restart(bool control_first) {
    if (control_first && !pair().control().running()) pair().start_control();
    if (!pair().dataplane().running()) pair().start_dataplane();
    if (!pair().control().running()) pair().start_control();
  }

  void settle_uncertain_and_compare() {
    const std::set<std::string> now = exported("bans");
    for (const std::string &entry : uncertain_) take(entry, now.contains(entry));
    uncertain_.clear();
    ASSERT_EQ(now, model_);
  }

  void compare_verdicts() {
    for (unsigned i = 0; i < 10; ++i) {
      const std::string entry = numbered_address(pick(addresses));
      EXPECT_EQ(pair().verdict(entry), model_.contains(entry) ? "drop" : "pass") << entry;
    }
    for (unsigned host = 11; host < 11 + hosts; ++host) {
      const std::string entry = fmt::format("192.0.2.{}", host);
      EXPECT_EQ(passes(entry), !model_.contains(entry)) << entry;
    }
    EXPECT_FALSE(passes(listed));
    EXPECT_TRUE(passes(GatedNetwork::client4));
  }

  std::set<std::string> model_;

private:
  static constexpr unsigned hosts = 4, addresses = 200;

  void take(const std::string &entry, bool present) {
    if (present)
      model_.insert(entry);
    else
      model_.erase(entry);
  }

  std::uint64_t seed_ = seed_or(20'261);
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "repeat with WEIR_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  std::set<std::string> uncertain_;
};

} // namespace

TEST_F(Faults, a_stopped_control_changes_nothing_in_forwarding) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  pair().control().signal(SIGSTOP);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(passes(GatedNetwork::client4));
    EXPECT_FALSE(passes(GatedNetwork::other4));
    EXPECT_FALSE(passes(listed));
  }
  pair().control().signal(SIGCONT);
  pair().must({"list", "del", "bans", GatedNetwork::other4});
  EXPECT_TRUE(passes(GatedNetwork::other4));
}

TEST_F(Faults, a_killed_control_leaves_the_gate_as_it_was_and_comes_back_to_its_lists) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  pair().must({"list", "add", "bans", GatedNetwork::other4, "203.0.113.0/24"});
  pair().control().stop(SIGKILL, 5s);
  EXPECT_TRUE(passes(GatedNetwork::client4));
  EXPECT_FALSE(passes(GatedNetwork::other4));
  EXPECT_EQ(pair().ctl({"status"}).status, 3) << "weirctl reaches a control that was killed";

  pair().start_control();
  ASSERT_TRUE(pair().ready());
  EXPECT_FALSE(passes(GatedNetwork::other4));
  EXPECT_EQ(exported("bans"), (std::set<std::string>{GatedNetwork::other4, "203.0.113.0/24"}));
  pair().must({"list", "del", "bans", GatedNetwork::other4});
  EXPECT_TRUE(passes(GatedNetwork::other4));
}

TEST_F(Faults, a_killed_dataplane_comes_back_closed_for_listed_addresses_without_control) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  pair().control().signal(SIGSTOP); // nobody can push anything
  pair().dataplane().stop(SIGKILL, 5s);
  EXPECT_FALSE(passes(GatedNetwork::client4)) << "packets pass without a dataplane";
  pair().start_dataplane();
  ASSERT_TRUE(wait_until([this] { return passes(GatedNetwork::client4); }, 20s))
      << "it does not forward again";
  EXPECT_FALSE(passes(listed)) << "the last image kept was not attached";

  pair().control().signal(SIGCONT);
  ASSERT_TRUE(pair().ready());
  EXPECT_TRUE(wait_until([this] { return !passes(GatedNetwork::other4); }, 5s))
      << "an entry added after the image was pushed did not come back";
  EXPECT_FALSE(passes(listed));
  EXPECT_TRUE(passes(GatedNetwork::client4));
}

TEST_F(RandomKills, both_killed_at_random_come_back_to_what_was_acknowledged) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  constexpr unsigned rounds = 6;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned victims = 1 + static_cast<unsigned>(pick(3)); // bit 0 control, bit 1 dataplane
    const bool control_first = pick(2) == 0;
    SCOPED_TRACE(fmt::format("round {}, victims {}, control first {}", round, victims, control_first));
    ASSERT_NO_FATAL_FAILURE(change_until_killed(victims));
    restart(control_first);
    ASSERT_TRUE(pair().ready());
    ASSERT_NO_FATAL_FAILURE(settle_uncertain_and_compare());
    compare_verdicts();
  }
  std::cout << fmt::format("{} rounds, {} entries at the end\n", rounds, model_.size());
}

TEST_F(Faults, sigterm_drains_and_prints_the_totals) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  EXPECT_FALSE(passes(listed));
  EXPECT_EQ(pair().dataplane().stop(SIGTERM, 10s), 0) << "a clean end";
  const std::string said = read_text(pair().dataplane_log());
  EXPECT_NE(said.find("lost 0"), std::string::npos) << said;
  EXPECT_NE(said.find("nets"), std::string::npos) << "the drops of the list are not in the totals\n" << said;
  EXPECT_EQ(pair().control().stop(SIGTERM, 10s), 0) << "control ends cleanly too";
}

} // namespace weir::test
