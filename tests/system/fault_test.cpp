// Processes stopped, killed and started again, one at a time.
#include "tests/system/gate.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <set>
#include <string>

namespace weir::test::fault_test {

namespace {

class Faults : public Gate {
protected:
  static constexpr const char *lists =
      "- {name: nets, action: deny, entries: [192.0.2.15, 2001:db8:bad::/48]}\n"
      "- {name: bans, action: deny, dynamic: true}\n";
  static constexpr const char *listed = "192.0.2.15"; // a client address on a list from the start

  bool passes(const std::string &from) { return network().ping(GatedNetwork::server4, from); }
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
  EXPECT_EQ(pair().exported("bans"), (std::set<std::string>{GatedNetwork::other4, "203.0.113.0/24"}));
  pair().must({"list", "del", "bans", GatedNetwork::other4});
  EXPECT_TRUE(passes(GatedNetwork::other4));
}

TEST_F(Faults, a_killed_dataplane_comes_back_closed_for_listed_addresses_without_control) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  ASSERT_TRUE(wait_until(
      [this] {
        const nlohmann::json status = pair().must({"status"});
        return status.at("dataplane").at("kept").at("waiting") == 0;
      },
      20s))
      << "the image in force is not on the disk";
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

TEST_F(Faults, sigterm_drains_and_prints_the_totals) {
  ASSERT_NO_FATAL_FAILURE(open(lists));
  EXPECT_FALSE(passes(listed));
  EXPECT_EQ(pair().dataplane().stop(SIGTERM, 10s), 0) << "a clean end";
  const std::string said = read_text(pair().dataplane_log());
  EXPECT_NE(said.find("lost 0"), std::string::npos) << said;
  EXPECT_NE(said.find("nets"), std::string::npos) << "the drops of the list are not in the totals\n" << said;
  EXPECT_EQ(pair().control().stop(SIGTERM, 10s), 0) << "control ends cleanly too";
}

} // namespace weir::test::fault_test
