// Packet rules between a real client and a real server: what is rejected is known to be at once, what is limited goes on.
#include "tests/system/gate.hpp"

#include <nlohmann/json.hpp>

namespace weir::test::packet_rules_test {

namespace {

using Json = nlohmann::json;

class PacketRules : public Gate {
protected:
  // curl's exit code: 7 is a connection that was refused, 28 one that nobody answered.
  int curl(const std::string &host) {
    const bool v6 = host.find(':') != host.npos;
    return network()
        .client
        .run(
            {"curl", "-s", "-o", "/dev/null", "-m", "5", "http://" + (v6 ? '[' + host + ']' : host) + ":80/"})
        .code.value_or(-1);
  }
  void apply(const std::string &rules) {
    pair().write_config(bans, rules);
    pair().must({"apply", pair().config().string()});
  }
};

} // namespace

TEST_F(PacketRules, reject_is_seen_by_curl_and_ping_at_once_and_drop_is_not) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  const TempDir folder;
  network().serve_web(folder.path());
  for (const char *server : {GatedNetwork::server4, GatedNetwork::server6})
    ASSERT_TRUE(network().fetch(server));

  apply("rules:\n"
        "- {name: web, action: reject, protocol: tcp, to_port: 80}\n"
        "- {name: ping, action: reject, protocol: [icmp, icmpv6], to: [192.0.2.80, \"2001:db8:2::80\"]}\n");
  for (const char *server : {GatedNetwork::server4, GatedNetwork::server6}) {
    EXPECT_EQ(curl(server), 7) << server << ": a reset";
    const Outcome ping = network().client.run({"ping", "-c", "1", "-W", "2", server});
    EXPECT_FALSE(ping.ok());
    EXPECT_TRUE(ping.out.find("iltered") != std::string::npos ||
                ping.out.find("rohibited") != std::string::npos)
        << ping.out; // "Packet filtered", "Administratively prohibited"
  }
  const Json stats = pair().must({"stats"});
  const Json rejected = stats.value("packet_rules", Json::object());
  EXPECT_GE(rejected.value("rejects_sent", 0), 4) << rejected.dump();
  bool named = false;
  for (const Json &row : stats.value("rules", Json::array()))
    named |= row.value("name", "") == "web" && row.value("dropped", 0) >= 2;
  EXPECT_TRUE(named) << stats.value("rules", Json()).dump();

  apply("rules:\n- {name: web, action: drop, protocol: tcp, to_port: 80}\n");
  EXPECT_EQ(curl(GatedNetwork::server4), 28) << "nobody answers";
  EXPECT_TRUE(network().ping(GatedNetwork::server4));

  apply("rules:\n- {name: web, action: pass, protocol: tcp, to_port: 80}\n"
        "- {name: answers, action: pass, protocol: tcp, from_port: 80}\n");
  pair().must({"list", "add", "bans", GatedNetwork::client4});
  EXPECT_TRUE(network().fetch(GatedNetwork::server4, GatedNetwork::client4))
      << "a rule is asked before the lists";
  EXPECT_FALSE(network().ping(GatedNetwork::server4, GatedNetwork::client4));
  pair().must({"list", "del", "bans", GatedNetwork::client4});

  const Json back = pair().must({"rollback"});
  EXPECT_GT(back.value("generation", 0), 0) << back.dump();
  EXPECT_EQ(curl(GatedNetwork::server4), 28) << "rules come back with their generation";
}

TEST_F(PacketRules, a_limit_per_source_holds_one_client_and_not_its_neighbour) {
  ASSERT_NO_FATAL_FAILURE(open(bans));
  apply("rules:\n- {name: ping, action: rate_limit, packets: 1, burst: 3, per: source, protocol: icmp, to: "
        "192.0.2.80}\n");
  const Outcome flood = network().client.run({"ping", "-q", "-c", "30", "-i", "0.02", "-W", "1", "-I",
                                              GatedNetwork::client4, GatedNetwork::server4});
  EXPECT_NE(flood.out.find("30 packets transmitted"), std::string::npos) << flood.out;
  EXPECT_EQ(flood.out.find(" 30 received"), std::string::npos) << flood.out;
  EXPECT_EQ(flood.out.find(" 0 received"), std::string::npos) << flood.out;
  EXPECT_TRUE(network().ping(GatedNetwork::server4, GatedNetwork::other4));
}

} // namespace weir::test::packet_rules_test
