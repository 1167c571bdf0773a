// Both processes killed at random moments while lists change, and started again in any order.
#include "tests/support/seed.hpp"
#include "tests/system/gate.hpp"

#include <fmt/format.h>

#include <csignal>
#include <iostream>
#include <random>
#include <set>
#include <thread>

namespace weir::test::kill_test {

namespace {

// Keeps what weirctl acknowledged: single entries of "bans", and which file "big" was replaced with.
class RandomKills : public Gate {
protected:
  static constexpr const char *listed = "192.0.2.15"; // a client address on a list from the start
  static constexpr unsigned hosts = 4, addresses = 200;
  static constexpr std::uint64_t big_entries = 30'000;

  void open_with_lists() {
    write_big(0);
    open(fmt::format("- {{name: nets, action: deny, entries: [{}]}}\n"
                     "- {{name: bans, action: deny, dynamic: true}}\n"
                     "- {{name: big, action: deny, file: {}}}\n",
                     listed, big_file().string()));
  }

  std::uint64_t pick(std::uint64_t choices) { return random_() % choices; }

  // At a random moment the victims die. Whatever was in flight then may or may not have happened.
  void change_until_killed(unsigned victims) {
    const auto kill_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50 + pick(400));
    write_big(big_ + 1);
    Child replace(ctl({"list", "replace", "big", big_file()}));
    bool killed = false;
    while (!killed) {
      const bool host = pick(4) == 0; // sometimes an address that traffic can ask for
      const std::string entry =
          host ? fmt::format("192.0.2.{}", 11 + pick(hosts)) : numbered_address(pick(addresses));
      const bool add = !bans_.contains(entry);
      Child change(ctl({"list", add ? "add" : "del", "bans", entry}));
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
    const auto replaced = replace.wait(20s);
    ASSERT_TRUE(replaced) << "weirctl hangs after a kill";
    big_certain_ = *replaced == 0;
    if (big_certain_) ++big_;
    if (victims & 1) (void)pair().control().wait(10s);
    if (victims & 2) (void)pair().dataplane().wait(10s);
  }

  void restart(bool control_first) {
    if (control_first && !pair().control().running()) pair().start_control();
    if (!pair().dataplane().running()) pair().start_dataplane();
    if (!pair().control().running()) pair().start_control();
  }

  void compare_lists() {
    const std::set<std::string> now = pair().exported("bans");
    for (const std::string &entry : uncertain_) take(entry, now.contains(entry));
    uncertain_.clear();
    ASSERT_EQ(now, bans_);
    const std::set<std::string> big = pair().exported("big");
    ASSERT_EQ(big.size(), big_entries) << "half a list";
    if (!big_certain_ && big.contains(first_of_big(big_ + 1))) ++big_;
    ASSERT_TRUE(big.contains(first_of_big(big_))) << "neither the old content nor the new one";
  }

  void compare_verdicts() {
    for (unsigned i = 0; i < 10; ++i) {
      const std::string entry = numbered_address(pick(addresses));
      EXPECT_EQ(pair().verdict(entry), bans_.contains(entry) ? "drop" : "pass") << entry;
    }
    for (unsigned host = 11; host < 11 + hosts; ++host) {
      const std::string entry = fmt::format("192.0.2.{}", host);
      EXPECT_EQ(passes(entry), !bans_.contains(entry)) << entry;
    }
    for (std::uint64_t content = 0; content <= big_ + 1; ++content)
      EXPECT_EQ(pair().verdict(first_of_big(content)), content == big_ ? "drop" : "pass")
          << "content " << content << " where " << big_ << " is in force";
    EXPECT_FALSE(passes(listed));
    EXPECT_TRUE(passes(GatedNetwork::client4));
  }

  std::set<std::string> bans_;

private:
  static std::uint64_t big_begin(std::uint64_t content) { return 1'000'000 + content * big_entries; }
  static std::string first_of_big(std::uint64_t content) { return numbered_address(big_begin(content)); }
  [[nodiscard]] std::filesystem::path big_file() const { return files_ / "big.txt"; }
  void write_big(std::uint64_t content) const {
    write_addresses(big_file(), big_begin(content), big_entries);
  }

  [[nodiscard]] Child::Setup ctl(std::vector<std::string> words) {
    words.insert(words.begin(), {program("weirctl"), "-s", pair().folder() / "run" / "control.sock"});
    return {.arguments = std::move(words)};
  }

  bool passes(const std::string &from) { return network().ping(GatedNetwork::server4, from); }

  void take(const std::string &entry, bool present) {
    if (present)
      bans_.insert(entry);
    else
      bans_.erase(entry);
  }

  TempDir files_;
  std::uint64_t seed_ = seed_or(20'261);
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "repeat with WEIR_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  std::set<std::string> uncertain_;
  std::uint64_t big_ = 0; // which content is in force
  bool big_certain_ = true;
};

} // namespace

TEST_F(RandomKills, both_come_back_to_what_was_acknowledged) {
  ASSERT_NO_FATAL_FAILURE(open_with_lists());
  constexpr unsigned rounds = 6;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned victims = 1 + static_cast<unsigned>(pick(3)); // bit 0 control, bit 1 dataplane
    const bool control_first = pick(2) == 0;
    SCOPED_TRACE(fmt::format("round {}, victims {}, control first {}", round, victims, control_first));
    ASSERT_NO_FATAL_FAILURE(change_until_killed(victims));
    restart(control_first);
    ASSERT_TRUE(pair().ready());
    ASSERT_NO_FATAL_FAILURE(compare_lists());
    compare_verdicts();
  }
  std::cout << fmt::format("{} rounds, {} entries at the end\n", rounds, bans_.size());
}

} // namespace weir::test::kill_test
