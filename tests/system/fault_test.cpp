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
  ASSERT_TRUE(wait_until(20s, [this] { return passes(GatedNetwork::client4); }))
      << "it does not forward again";
  EXPECT_FALSE(passes(listed)) << "the last image kept was not attached";

  pair().control().signal(SIGCONT);
  ASSERT_TRUE(pair().ready());
  EXPECT_TRUE(wait_until(5s, [this] { return !passes(GatedNetwork::other4); }))
      << "an entry added after the image was pushed did not come back";
  EXPECT_FALSE(passes(listed));
  EXPECT_TRUE(passes(GatedNetwork::client4));
}

TEST_F(Faults, both_killed_at_random_come_back_to_what_was_acknowledged) {
  const std::uint64_t seed = seed_or(20'261);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  ASSERT_NO_FATAL_FAILURE(open(lists));

  std::set<std::string> model;
  constexpr unsigned rounds = 6;
  for (unsigned round = 0; round < rounds; ++round) {
    // One change is in flight when the kill comes; it may or may not have happened.
    std::set<std::string> uncertain;
    const auto kill_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50 + pick(400));
    const unsigned victims = 1 + static_cast<unsigned>(pick(3)); // bit 0 control, bit 1 dataplane
    bool killed = false;
    const auto kill_when_due = [&] {
      if (killed || std::chrono::steady_clock::now() < kill_at) return;
      if (victims & 1) pair().control().signal(SIGKILL);
      if (victims & 2) pair().dataplane().signal(SIGKILL);
      killed = true;
    };
    while (!killed) {
      const bool host = pick(4) == 0; // sometimes an address that traffic can ask for
      const std::string entry = host ? fmt::format("192.0.2.{}", 11 + pick(4)) : numbered_address(pick(200));
      const bool add = !model.contains(entry);
      Child change({program("weirctl"), "-j", "-s", pair().folder() / "run" / "control.sock", "list",
                      add ? "add" : "del", "bans", entry},
                     {});
      std::optional<int> status;
      while (!(status = change.wait(0ms)) && !killed) {
        kill_when_due();
        sleep_for(1ms);
      }
      if (!status) status = change.wait(10s);
      ASSERT_TRUE(status) << "weirctl hangs after a kill";
      if (*status == 0) {
        if (add)
          model.insert(entry);
        else
          model.erase(entry);
      } else {
        uncertain.insert(entry);
      }
      kill_when_due();
    }
    pair().control().wait(victims & 1 ? 5000ms : 0ms);
    pair().dataplane().wait(victims & 2 ? 5000ms : 0ms);
    const bool control_first = pick(2) == 0;
    if (control_first && !pair().control().running()) pair().start_control();
    if (!pair().dataplane().running()) pair().start_dataplane();
    if (!pair().control().running()) pair().start_control();
    ASSERT_TRUE(pair().ready()) << "round " << round << ", victims " << victims;

    std::set<std::string> now = exported("bans");
    for (const std::string &entry : uncertain) {
      if (now.contains(entry))
        model.insert(entry);
      else
        model.erase(entry);
    }
    ASSERT_EQ(now, model) << "round " << round << ", victims " << victims << ", control first "
                          << control_first;
    for (unsigned i = 0; i < 10; ++i) {
      const std::string entry = numbered_address(pick(200));
      EXPECT_EQ(pair().must({"explain", entry}).value("verdict", ""), model.contains(entry) ? "drop" : "pass")
          << entry;
    }
    for (unsigned host = 11; host < 15; ++host) {
      const std::string entry = fmt::format("192.0.2.{}", host);
      EXPECT_EQ(passes(entry), !model.contains(entry)) << entry << " in round " << round;
    }
    EXPECT_FALSE(passes(listed));
    EXPECT_TRUE(passes(GatedNetwork::client4));
  }
  std::cout << fmt::format("{} rounds, {} entries at the end\n", rounds, model.size());
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
