// Packets that weir drops, seen while they are dropped: by weirctl, and by tshark from the file that it writes.
#include "tests/system/gate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>

namespace weir::test::drops_test {

namespace {

using Json = nlohmann::json;

class Drops : public Gate {
protected:
  Child follow(const std::vector<std::string> &with, const std::filesystem::path &out) {
    std::vector<std::string> command{program("weirctl").string(), "-s",
                                     (pair().folder() / "run/control.sock").string(), "drops", "-f"};
    command.insert(command.end(), with.begin(), with.end());
    return Child({.arguments = command, .output = out, .netns = {}});
  }
};

} // namespace

TEST_F(Drops, are_shown_with_their_entry_while_traffic_flows) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  pair().must({"list", "add", "bans", GatedNetwork::client4, "--comment", "tried as a user would"});
  const TempDir folder;
  const auto lines = folder / "lines", file = folder / "denied.pcapng";
  Child shown = follow({"-n", "3"}, lines);
  Child written = follow({"-n", "3", "-w", file.string(), "--filter", "icmp"}, folder / "sum");
  std::this_thread::sleep_for(1s); // both have asked once
  EXPECT_FALSE(network()
                   .client
                   .run({"ping", "-q", "-c", "20", "-i", "0.2", "-W", "1", "-I", GatedNetwork::client4,
                         GatedNetwork::server4})
                   .ok());
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::other4)) << "its neighbour is not held up";
  ASSERT_TRUE(shown.wait(10s)) << read_text(lines);
  ASSERT_TRUE(written.wait(10s)) << read_text(folder / "sum");
  const std::string text = read_text(lines);
  EXPECT_NE(text.find(std::string("deny list bans ") + GatedNetwork::client4 + " tried as a user would"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(std::string(GatedNetwork::client4) + " > " + GatedNetwork::server4 + " icmp"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("wan queue 0"), std::string::npos) << text;

  const Outcome tshark = run({"tshark", "-n", "-r", file.string(), "-T", "fields", "-e", "frame.comment",
                              "-e", "ip.src", "-e", "frame.interface_name"});
  ASSERT_TRUE(tshark.ok()) << tshark.err;
  EXPECT_EQ(std::ranges::count(tshark.out, '\n'), 3) << tshark.out;
  EXPECT_NE(tshark.out.find(std::string("deny list bans ") + GatedNetwork::client4 +
                            " tried as a user would\t" + GatedNetwork::client4 + "\twan"),
            std::string::npos)
      << tshark.out;
  pair().must({"list", "del", "bans", GatedNetwork::client4});
}

} // namespace weir::test::drops_test
