// Ports of other drivers than AF_PACKET, each carrying pings and TCP between two real hosts and judging them: AF_XDP on veth
// interfaces, a TAP that the kernel of the client holds the other end of, and memif and vhost-user (virtio-user) between two
// gates in a row.
#include "tests/system/gate.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

namespace weir::test::port_kinds_test {
namespace {

using Json = nlohmann::json;

constexpr const char *packet_wan = "net_af_packet0,iface=wan,blocksz=65536,framesz=2048,framecnt=4096";
constexpr const char *packet_lan = "net_af_packet1,iface=lan,blocksz=65536,framesz=2048,framecnt=4096";

class PortKinds : public Gate {
protected:
  [[nodiscard]] PairSetup over(std::vector<std::string> vdevs) {
    PairSetup setup;
    setup.netns = network().middle.name();
    setup.vdevs = std::move(vdevs);
    setup.lists = bans;
    return setup;
  }
  // `judge` has the client outside and the server inside; every gate on the way must lose nothing.
  void expect_to_carry_and_judge(WeirPair &judge, const std::vector<WeirPair *> &gates) {
    ASSERT_TRUE(wait_until([this] { return network().ping(GatedNetwork::server4); }, 20s))
        << "nothing comes through";
    EXPECT_TRUE(wait_until([this] { return network().ping(GatedNetwork::server6); }, 20s));
    const TempDir folder;
    network().serve_web(folder.path());
    EXPECT_TRUE(network().fetch(GatedNetwork::server4));
    judge.must({"list", "add", "bans", GatedNetwork::client4});
    EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
    EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::other4));
    judge.must({"list", "del", "bans", GatedNetwork::client4});
    EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
    for (WeirPair *gate : gates) {
      const Json stats = gate->must({"stats"});
      EXPECT_EQ(stats.at("lost"), 0);
      for (const Json &port : stats.at("ports")) {
        EXPECT_GT(port.value("rx_packets", 0), 10) << port;
        EXPECT_GT(port.value("tx_packets", 0), 10) << port;
      }
    }
  }
  // Two gates in a row, the client's and the server's, joined by these devices.
  void expect_a_row_to_carry(const std::string &of_the_first, const std::string &of_the_second) {
    WeirPair first(over({packet_wan, of_the_first})), second(over({of_the_second, packet_lan}));
    ASSERT_NO_FATAL_FAILURE(first.start());
    ASSERT_NO_FATAL_FAILURE(second.start());
    expect_to_carry_and_judge(first, {&first, &second});
  }
};

TEST_F(PortKinds, af_xdp_on_veth_carries_and_judges) {
  const int fd = socket(AF_XDP, SOCK_RAW, 0);
  if (fd < 0) GTEST_SKIP() << "this kernel has no AF_XDP sockets";
  close(fd);
  WeirPair pair(over({"net_af_xdp0,iface=wan", "net_af_xdp1,iface=lan"}));
  ASSERT_NO_FATAL_FAILURE(pair.start());
  expect_to_carry_and_judge(pair, {&pair});
}

TEST_F(PortKinds, tap_carries_and_judges) {
  if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "there is no /dev/net/tun";
  WeirPair pair(over({"net_tap0,iface=towan", packet_lan}));
  ASSERT_NO_FATAL_FAILURE(pair.start());
  // The kernel's end of it becomes the client's interface, with the addresses of the one that it had.
  network().middle.must({"ip", "link", "set", "towan", "netns", network().client.name()});
  network().client.must({"ip", "link", "delete", "c0"});
  for (const std::string address : {GatedNetwork::client4, GatedNetwork::other4})
    network().client.must({"ip", "address", "add", address + "/24", "dev", "towan"});
  network().client.must(
      {"ip", "address", "add", std::string(GatedNetwork::client6) + "/64", "dev", "towan", "nodad"});
  network().client.must({"ip", "link", "set", "towan", "up"});
  expect_to_carry_and_judge(pair, {&pair});
}

TEST_F(PortKinds, memif_joins_two_gates_that_carry_and_judge) {
  const TempDir folder;
  const std::string socket = folder / "memif.sock";
  expect_a_row_to_carry(fmt::format("net_memif0,role=server,id=0,socket={},socket-abstract=no", socket),
                        fmt::format("net_memif0,role=client,id=0,socket={},socket-abstract=no", socket));
}

TEST_F(PortKinds, virtio_user_joins_two_gates_that_carry_and_judge) {
  const TempDir folder;
  const std::string socket = folder / "vhost.sock";
  expect_a_row_to_carry(fmt::format("net_vhost0,iface={},queues=1", socket),
                        fmt::format("net_virtio_user0,path={},queues=1", socket));
}

} // namespace
} // namespace weir::test::port_kinds_test
