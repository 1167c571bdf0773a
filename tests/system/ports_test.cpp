// Ports as an operator sets them: long frames, and frames that leave as they came.
#include "tests/support/capture_file.hpp"
#include "tests/system/gate.hpp"
#include "weir/base/hex.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace weir::test::ports_test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class PortsUnderTraffic : public Gate {
protected:
  static PairSetup over(const std::string &netns, const std::string &sizes = {}) {
    PairSetup setup;
    setup.netns = netns;
    setup.vdevs = {"net_af_packet0,iface=wan" + sizes, "net_af_packet1,iface=lan" + sizes};
    setup.lists = bans;
    return setup;
  }
  [[nodiscard]] bool ping_of(std::size_t bytes, const std::string &to, const std::string &from = {}) {
    std::vector<std::string> command{"ping", "-q", "-n", "-c", "3", "-i", "0.1", "-W", "1", "-M", "do", "-s"};
    command.push_back(std::to_string(bytes));
    if (!from.empty()) command.insert(command.end(), {"-I", from});
    command.push_back(to);
    return network().client.run(command).ok();
  }
  void make_hosts_send_9000() {
    network().client.must({"ip", "link", "set", "c0", "mtu", "9000"});
    network().server.must({"ip", "link", "set", "s0", "mtu", "9000"});
  }
};

TEST_F(PortsUnderTraffic, jumbo_frames_pass_whole_and_are_judged) {
  make_hosts_send_9000();
  PairSetup setup = over(network().middle.name());
  setup.of_ports = "mtu: 9000";
  ASSERT_NO_FATAL_FAILURE(open(std::move(setup)));
  EXPECT_TRUE(ping_of(9000 - 28, GatedNetwork::server4));
  EXPECT_TRUE(ping_of(9000 - 48, GatedNetwork::server6));
  EXPECT_TRUE(ping_of(2000, GatedNetwork::server4));
  EXPECT_TRUE(ping_of(0, GatedNetwork::server4));
  const TempDir folder;
  network().serve_web(folder.path());
  EXPECT_TRUE(network().fetch(GatedNetwork::server4)) << "TCP takes segments of 8960 bytes";

  pair().must({"list", "add", "bans", GatedNetwork::other4});
  EXPECT_FALSE(ping_of(9000 - 28, GatedNetwork::server4, GatedNetwork::other4));
  EXPECT_TRUE(ping_of(9000 - 28, GatedNetwork::server4, GatedNetwork::client4));
  const Json stats = pair().must({"stats"});
  EXPECT_EQ(stats.at("lost"), 0);
  EXPECT_EQ(stats.at("reasons").at("malformed").at("drop"), 0) << "no header was cut";
}

TEST_F(PortsUnderTraffic, an_interface_that_sends_longer_frames_than_the_port_takes_is_told) {
  make_hosts_send_9000();
  network().middle.must({"ip", "link", "set", "wan", "mtu", "9000"});
  ASSERT_NO_FATAL_FAILURE(open(over(network().middle.name())));
  const std::string warnings = pair().must({"status"}).at("dataplane").at("warnings").dump();
  EXPECT_THAT(warnings,
              HasSubstr("port wan: interface wan has an MTU of 9000, and this port takes frames of 1964"));
  EXPECT_THAT(warnings, testing::Not(HasSubstr("port lan")));
}

TEST_F(PortsUnderTraffic, an_mtu_beyond_ring_or_interface_is_refused_with_the_limit) {
  const auto refusal = [&](const std::string &sizes, const std::string &of_ports) {
    PairSetup setup = over(network().middle.name(), sizes);
    setup.of_ports = of_ports;
    WeirPair pair(std::move(setup));
    pair.start_dataplane();
    EXPECT_EQ(pair.dataplane().wait(20s), 1);
    return read_text(pair.dataplane_log());
  };
  EXPECT_THAT(refusal(",framesz=2048", "mtu: 9000"),
              HasSubstr("port wan: mtu: 9000: net_af_packet0 (net_af_packet) takes at most 1964 with its "
                        "framesz=2048; write framesz=9216,blocksz=36864 in eal.vdevs, or leave both out"));
}

TEST_F(PortsUnderTraffic, a_link_that_is_lost_is_told_shown_and_followed) {
  const TempDir folder;
  const auto card = folder / "card", heard = folder / "heard";
  write_text(card, "#!/bin/sh\necho $1 >> " + heard.string() + "\n");
  std::filesystem::permissions(card, std::filesystem::perms::owner_all);
  PairSetup setup = over(network().middle.name());
  setup.of_ports = "link: follow";
  setup.more = "metrics: {listen: " + (folder / "metrics.sock").string() +
               "}\nhealth: {exec: " + card.string() + ", hold: 1s}\n";
  ASSERT_NO_FATAL_FAILURE(open(std::move(setup)));
  const auto asked = [&](const std::string &path) {
    return run({"curl", "-sS", "--unix-socket", folder / "metrics.sock", "-w", "%{http_code}",
                "http://x" + path})
        .out;
  };
  const auto link_of = [&](std::size_t port) {
    return pair().must({"stats"}).at("ports").at(port).value("link", "");
  };
  EXPECT_EQ(link_of(0), "up");
  EXPECT_TRUE(wait_until([&] { return asked("/health").ends_with("is in force\n200"); }, 10s))
      << asked("/health");
  EXPECT_TRUE(wait_until([&] { return read_text(heard) == "up\n"; }, 20s)) << read_text(heard);

  network().client.must({"ip", "link", "set", "c0", "down"});
  EXPECT_TRUE(wait_until([&] { return link_of(0) == "down" && link_of(1) == "held"; }, 30s));
  EXPECT_EQ(pair().ctl({"health"}).status, 1);
  EXPECT_THAT(asked("/health"), HasSubstr("WRONG: port wan has no link"));
  EXPECT_THAT(asked("/health"), testing::EndsWith("\n503"));
  EXPECT_THAT(asked("/metrics"), HasSubstr("weir_port_up{port=\"wan\"} 0\n"));
  EXPECT_THAT(asked("/metrics"), HasSubstr("weir_port_link_losses_total{port=\"wan\"} 1\n"));
  EXPECT_THAT(network().server.run({"ip", "link", "show", "s0"}).out, HasSubstr("NO-CARRIER"));
  EXPECT_TRUE(wait_until([&] { return read_text(heard) == "up\ndown\n"; }, 20s)) << read_text(heard);

  network().client.must({"ip", "link", "set", "c0", "up"});
  EXPECT_TRUE(wait_until([&] { return link_of(0) == "up" && link_of(1) == "up"; }, 30s));
  EXPECT_TRUE(wait_until([&] { return network().ping(GatedNetwork::server4); }, 20s));
  EXPECT_TRUE(wait_until([&] { return read_text(heard) == "up\ndown\nup\n"; }, 20s)) << read_text(heard);
  EXPECT_THAT(read_text(pair().dataplane_log()), HasSubstr("port wan: link is lost"));
}

TEST_F(PortsUnderTraffic, go_on_through_the_kernel_while_the_dataplane_does_not_run) {
  PairSetup setup = over(network().middle.name());
  setup.of_ports = "on_exit: bypass";
  ASSERT_NO_FATAL_FAILURE(open(std::move(setup)));
  const auto bypass = [&](const char *state) {
    return network().middle.run({program("weir-dataplane"), "--bypass", state, "-c", pair().config()});
  };
  const auto redirects = [&] {
    return network().middle.run({"tc", "filter", "show", "dev", "wan", "ingress"}).out;
  };
  EXPECT_EQ(redirects(), "") << "or each packet would leave twice";

  ASSERT_EQ(pair().dataplane().stop(SIGTERM, 20s), 0);
  EXPECT_THAT(redirects(), HasSubstr("Egress Redirect to device lan"));
  EXPECT_TRUE(network().ping(GatedNetwork::server4));
  EXPECT_TRUE(network().ping(GatedNetwork::server6));
  pair().start_dataplane();
  ASSERT_TRUE(pair().ready());
  EXPECT_EQ(redirects(), "");
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::other4)) << "it is judged again";

  pair().dataplane().stop(SIGKILL, 20s);
  EXPECT_FALSE(network().ping(GatedNetwork::server4));
  ASSERT_TRUE(bypass("on").ok());
  ASSERT_TRUE(bypass("on").ok()) << "twice is as good as once";
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::other4)) << "nothing is judged";
  ASSERT_TRUE(bypass("off").ok());
  EXPECT_FALSE(network().ping(GatedNetwork::server4));
  ASSERT_TRUE(bypass("on").ok());
  pair().start_dataplane();
  ASSERT_TRUE(pair().ready());
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
  const std::string once =
      network().client.run({"ping", "-n", "-c", "20", "-i", "0.05", GatedNetwork::server4}).out;
  EXPECT_THAT(once, testing::Not(HasSubstr("DUP")));
}

// What the kernel does to frames on the way from and to net_af_packet is that of any host; weir adds nothing to it.
TEST_F(PortsUnderTraffic, tags_and_checksums_leave_as_they_came) {
  ASSERT_NO_FATAL_FAILURE(open(over(network().middle.name())));
  FrameBuilder wrong_sum = FrameBuilder().ethernet().ipv4({.source = "192.0.2.10"}).udp(7, 9).payload(40);
  const auto with_sums = [](Frame frame, std::size_t ip) { // wrong on purpose
    frame.bytes[ip + 10] = 0xBA, frame.bytes[ip + 11] = 0xD1;
    frame.bytes[ip + 26] = 0xBA, frame.bytes[ip + 27] = 0xD2;
    return frame.bytes;
  };
  const std::vector<std::vector<std::uint8_t>> sent{
      with_sums(wrong_sum.frame(), 14),
      with_sums(FrameBuilder().ethernet().vlan(100).ipv4().udp(7, 9).payload(41).frame(), 18),
      with_sums(FrameBuilder().ethernet().vlan(0x6000 | 5).vlan(7).ipv4().udp(7, 9).payload(42).frame(), 22),
      FrameBuilder().ethernet().ipv6().udp(7, 9).payload(43).frame().bytes};
  const TempDir folder;
  const auto file = folder / "seen.pcap";
  Child capture({.arguments = {"tcpdump", "-U", "-i", "s0", "-Q", "in", "-w", file.string(), "-s", "0",
                               "ether", "src", "02:00:00:00:00:01"},
                 .output = folder / "tcpdump.log",
                 .netns = network().server.name()});
  ASSERT_TRUE(wait_until(
      [&] { return read_text(folder / "tcpdump.log").find("listening") != std::string::npos; }, 10s));
  std::vector<std::string> command{"python3", source_tree() / "tests/support/send_frames.py", "c0"};
  for (const auto &frame : sent) command.push_back(hex_of(frame.data(), frame.size()));
  network().client.must(command);
  std::vector<std::vector<std::uint8_t>> seen;
  EXPECT_TRUE(wait_until(
      [&] {
        if (!std::filesystem::exists(file) || std::filesystem::file_size(file) < 24) return false;
        seen.clear();
        try {
          for (const Frame &frame : read_capture(file).frames) seen.push_back(frame.bytes);
        } catch (const std::runtime_error &) { // it is being written
          return false;
        }
        return seen.size() >= sent.size();
      },
      10s));
  EXPECT_EQ(seen, sent);
}

} // namespace
} // namespace weir::test::ports_test
