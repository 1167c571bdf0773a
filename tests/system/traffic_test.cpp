// Real clients and servers with weir in the middle.
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <thread>

namespace weir::test::traffic_test {

namespace {

using Json = nlohmann::json;

class Traffic : public Gate {};

class TaggedTraffic : public Gate {
protected:
  TaggedTraffic() : Gate({"8100:100"}) {}
};

// What weir did with the packets it took in, beside what the devices in the middle saw. net_af_packet
// counts neither what its ring had no room for nor what the kernel refused to send.
struct Balance {
  std::int64_t rx = 0, tx = 0, drops = 0, device_rx = 0, device_tx = 0;
  [[nodiscard]] std::int64_t lost() const { return rx - tx - drops; }
};

Balance balance_of(const WeirPair &pair, const GatedNetwork &network) {
  Balance balance;
  const Json stats = pair.must({"stats"});
  for (const Json &port : stats.value("ports", Json::array())) {
    balance.rx += port.value("rx_packets", std::int64_t{0});
    balance.tx += port.value("tx_packets", std::int64_t{0});
  }
  for (const Json &verdict : stats.value("verdicts", Json::array()))
    if (verdict.value("verdict", "") == "drop") balance.drops += verdict.value("packets", std::int64_t{0});
  for (const char *device : {"wan", "lan"}) {
    balance.device_rx += static_cast<std::int64_t>(network.middle.counter(device, "rx_packets"));
    balance.device_tx += static_cast<std::int64_t>(network.middle.counter(device, "tx_packets"));
  }
  return balance;
}

// How many IPv4 echo requests a host's kernel has been given; empty when it does not say.
std::string echo_requests(const Netns &host) {
  return host
      .run({"awk",
            "$1 == \"Icmp:\" { if (at) print $at; for (i = 2; i <= NF; ++i) if ($i == \"InEchos\") at = i }",
            "/proc/net/snmp"})
      .out;
}

// Megabits per second that an iperf3 client saw, 0 when it failed.
double iperf3(const GatedNetwork &network, const std::string &host, const std::vector<std::string> &more) {
  std::vector<std::string> command{"iperf3", "-J", "-c", host, "-t", "2", "--connect-timeout", "3000"};
  command.insert(command.end(), more.begin(), more.end());
  const Json answer = Json::parse(network.client.run(command).out, nullptr, false);
  return answer.is_object() && answer.contains("end")
             ? answer["end"].value("/sum_received/bits_per_second"_json_pointer, 0.0) / 1e6
             : 0.0;
}

} // namespace

TEST_F(Traffic, ping_curl_and_iperf3_pass_over_both_families) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  const TempDir folder;
  network().serve_web(folder.path());
  network().serve_iperf3(folder / "iperf3.log");
  for (const char *server : {GatedNetwork::server4, GatedNetwork::server6}) {
    EXPECT_TRUE(network().ping(server)) << server;
    EXPECT_TRUE(network().fetch(server)) << server;
    const double mbit = iperf3(network(), server, {});
    EXPECT_GT(mbit, 1.0) << server;
    std::cout << fmt::format("iperf3 to {}: {:.0f} Mbit/s through weir\n", server, mbit);
  }
  // Fragments carry their addresses and pass like any packet. Those of IPv4 are put together by
  // net_af_packet's socket (PACKET_FANOUT_FLAG_DEFRAG) and then fit no frame, so IPv6 it is.
  EXPECT_TRUE(
      network().client.run({"ping", "-q", "-c", "2", "-W", "1", "-s", "4000", GatedNetwork::server6}).ok());
  const Balance balance = balance_of(pair(), network());
  EXPECT_GT(balance.rx, 100);
  EXPECT_EQ(balance.lost(), 0);
}

TEST_F(Traffic, a_client_denied_while_it_runs_stops_and_works_again_once_removed) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  const TempDir folder;
  network().serve_web(folder.path());
  network().serve_iperf3(folder / "iperf3.log");
  Child stream({.arguments = {"iperf3", "-c", GatedNetwork::server4, "-B", GatedNetwork::client4, "-t", "60"},
                .output = folder / "stream.log",
                .netns = network().client.name()});
  const auto received = [this] { return network().server.counter("s0", "rx_bytes"); };
  ASSERT_TRUE(wait_until([&, before = received()] { return received() > before + 1'000'000; }, 5s))
      << "the stream does not flow before the ban\n"
      << last_lines(folder / "stream.log", 10);

  pair().must({"list", "add", "bans", GatedNetwork::client4});
  // Whatever still sits in the server's own receive path is there within a moment; after it nothing comes.
  std::this_thread::sleep_for(50ms);
  const std::uint64_t when_denied = received();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(received() - when_denied, 2000u) << "packets of a denied client still reach the server";
  EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
  EXPECT_FALSE(network().fetch(GatedNetwork::server4, GatedNetwork::client4));
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::other4)) << "its neighbour is cut off too";
  EXPECT_TRUE(network().ping(GatedNetwork::server6)) << "IPv6 of the same host is cut off too";
  const Json why = pair().must({"explain", GatedNetwork::client4});
  EXPECT_EQ(why.value("verdict", ""), "drop") << why.dump();
  EXPECT_EQ(why.value("list", ""), "bans") << why.dump();

  pair().must({"list", "del", "bans", GatedNetwork::client4});
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
  EXPECT_TRUE(network().fetch(GatedNetwork::server4, GatedNetwork::client4));

  pair().must({"list", "add", "bans", "2001:db8:2::/64"});
  EXPECT_FALSE(network().ping(GatedNetwork::server6));
  EXPECT_TRUE(network().ping(GatedNetwork::server4));
  pair().must({"list", "del", "bans", "2001:db8:2::/64"});
  EXPECT_TRUE(network().ping(GatedNetwork::server6));
  // The stream may flow again by now, and counters that are read while it does have packets under way between them.
  stream.stop(SIGKILL, 5s);
  EXPECT_TRUE(wait_until([&] { return balance_of(pair(), network()).lost() == 0; }, 2s))
      << balance_of(pair(), network()).lost() << " packets are lost";
}

TEST_F(Traffic, a_denied_server_is_cut_off_in_both_directions) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  // Under `match: remote` the address of the outside is judged, whoever sends. A server asks a denied
  // client: its packet enters inside, where the destination counts.
  EXPECT_TRUE(network().server.run({"ping", "-q", "-c", "1", "-W", "1", GatedNetwork::other4}).ok());
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  const std::string before = echo_requests(network().client);
  ASSERT_FALSE(before.empty());
  EXPECT_FALSE(
      network().server.run({"ping", "-q", "-c", "2", "-i", "0.2", "-W", "1", GatedNetwork::other4}).ok());
  EXPECT_EQ(echo_requests(network().client), before) << "only ARP may come through";
}

TEST_F(Traffic, an_allowed_host_inside_a_denied_network_passes) {
  ASSERT_NO_FATAL_FAILURE(open("- {name: ops, action: allow, entries: [192.0.2.10]}\n"
                               "- {name: nets, action: deny, entries: [192.0.2.0/27]}\n"));
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
  EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::other4));
}

TEST_F(TaggedTraffic, a_host_behind_a_vlan_tag_is_judged_like_any_other) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  EXPECT_TRUE(network().ping(GatedNetwork::server6));
  pair().must({"list", "add", "bans", GatedNetwork::other4});
  EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::other4));
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
}

TEST_F(Traffic, a_list_of_a_million_entries_is_replaced_ten_times_under_load_and_no_packet_is_lost) {
  constexpr std::uint64_t entries = 1'000'000, step = 100'000, rounds = 10;
  const TempDir folder;
  const auto file = folder / "big.txt";
  write_addresses(file, 0, entries);
  ASSERT_NO_FATAL_FAILURE(
      open(fmt::format("- {{name: big, action: deny, file: {}}}\n", file.string()) + bans));
  network().serve_iperf3(folder / "iperf3.log");
  const Balance before = balance_of(pair(), network());
  Child stream({.arguments = {"iperf3", "-c", GatedNetwork::server4, "-t", "300"},
                .output = folder / "stream.log",
                .netns = network().client.name()});

  double replace_s_max = 0;
  std::uint64_t swap_ns_max = 0;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    write_addresses(file, round * step, entries);
    const Reply reply = pair().ctl({"list", "replace", "big", file});
    ASSERT_TRUE(reply.ok()) << reply.out << reply.err;
    const Json answer = reply.json();
    EXPECT_EQ(answer.value("added", std::uint64_t{0}), step) << reply.out;
    EXPECT_EQ(answer.value("removed", std::uint64_t{0}), step) << reply.out;
    replace_s_max = std::max(replace_s_max, reply.seconds);
    swap_ns_max = std::max(swap_ns_max, answer.value("swap_ns", std::uint64_t{0}));
    EXPECT_EQ(pair().verdict(numbered_address(round * step + entries - 1)), "drop");
    EXPECT_EQ(pair().verdict(numbered_address(round * step - 1)), "pass");
  }
  EXPECT_TRUE(stream.running()) << "the load ended early\n" << last_lines(folder / "stream.log", 10);
  stream.stop(SIGKILL, 5s);
  std::this_thread::sleep_for(300ms);
  const Balance after = balance_of(pair(), network());
  const auto change = [&](std::int64_t Balance::*of) { return after.*of - before.*of; };
  std::cout << fmt::format(
      "{} packets judged while {} lists of {} entries went live; slowest replace {:.2f} s, "
      "slowest swap {:.1f} us; lost by weir {}, by the kernel {} before weir and {} after it\n",
      change(&Balance::rx), rounds, entries, replace_s_max, static_cast<double>(swap_ns_max) / 1e3,
      after.lost(), change(&Balance::device_rx) - change(&Balance::rx),
      change(&Balance::tx) - change(&Balance::device_tx));
  EXPECT_GT(after.rx - before.rx, 10'000) << "hardly any load";
  EXPECT_EQ(after.lost(), 0);
}

} // namespace weir::test::traffic_test
