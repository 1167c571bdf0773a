#include "tests/support/netns.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <unistd.h>

namespace weir::test {

namespace {

void ip(const std::vector<std::string> &words) {
  std::vector<std::string> command{"ip"};
  command.insert(command.end(), words.begin(), words.end());
  const Outcome outcome = run(command);
  EXPECT_TRUE(outcome.ok()) << fmt::format("{}", fmt::join(command, " ")) << ": " << outcome.err;
}

void plain_wire(const Netns &ns, const std::string &device) {
  ns.must({"ethtool", "-K", device, "tx", "off", "tso", "off", "gso", "off", "gro", "off"});
}

} // namespace

Netns::Netns(const std::string &role) {
  static std::atomic<unsigned> next{0};
  name_ = fmt::format("weir{}-{}-{}", getpid(), role, next++);
  ip({"netns", "add", name_});
  must({"ip", "link", "set", "lo", "up"});
}

Netns::~Netns() { ip({"netns", "del", name_}); }

Outcome Netns::run(const std::vector<std::string> &command, std::chrono::milliseconds time_max) const {
  return test::run(command, name_, time_max);
}

void Netns::must(const std::vector<std::string> &command) const {
  const Outcome outcome = run(command);
  EXPECT_TRUE(outcome.ok()) << fmt::format("{}", fmt::join(command, " ")) << " in " << name_ << ": "
                            << outcome.err;
}

std::uint64_t Netns::counter(const std::string &device, const std::string &name) const {
  // /sys shows the namespace it was mounted in; `ip netns exec` mounts it anew.
  const std::string file = fmt::format("/sys/class/net/{}/statistics/{}", device, name);
  return std::strtoull(test::run({"ip", "netns", "exec", name_, "cat", file}).out.c_str(), nullptr, 10);
}

void cable(const Netns &a, const std::string &device_a, const Netns &b, const std::string &device_b) {
  ip({"link", "add", device_a, "netns", a.name(), "type", "veth", "peer", "name", device_b, "netns",
      b.name()});
  for (const auto &[ns, device] : {std::pair{&a, &device_a}, std::pair{&b, &device_b}})
    plain_wire(*ns, *device);
}

std::string namespaces_missing() {
  if (geteuid() != 0) return "needs root: network namespaces";
  const std::string name = fmt::format("weir{}-probe", getpid());
  if (const Outcome outcome = run({"ip", "netns", "add", name}); !outcome.ok())
    return "network namespaces do not work here: " + outcome.err;
  const Outcome veth = run({"ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"}, name);
  run({"ip", "netns", "del", name});
  if (!veth.ok()) return "veth pairs do not work here: " + veth.err;
  for (const char *tool : {"ethtool", "ping", "curl", "iperf3", "python3"})
    if (!run({"sh", "-c", fmt::format("command -v {}", tool)}).ok())
      return fmt::format("{} is not installed", tool);
  return {};
}

void GatedNetwork::connect(const Netns &end, const std::string &device, const std::string &trunk,
                           const std::vector<std::string> &tags) {
  if (tags.empty()) return cable(end, device, middle, trunk);
  const Netns &relay = *relay_namespaces_.emplace_back(std::make_unique<Netns>("relay"));
  cable(end, device, relay, "plain");
  cable(relay, "trunk", middle, trunk);
  for (const auto &[ns, name] : {std::pair{&relay, "plain"}, {&relay, "trunk"}, {&middle, trunk.c_str()}}) {
    ns->must({"sysctl", "-qw", fmt::format("net.ipv6.conf.{}.disable_ipv6=1", name)});
    ns->must({"ip", "link", "set", name, "mtu", "1508", "up"});
  }
  std::vector<std::string> command{"python3", source_tree() / "tests/support/tag_relay.py", "plain", "trunk"};
  command.insert(command.end(), tags.begin(), tags.end());
  relays_.emplace_back(Child::Setup{.arguments = command, .netns = relay.name()});
}

GatedNetwork::GatedNetwork(const std::vector<std::string> &tags) {
  connect(client, "c0", "wan", tags);
  connect(server, "s0", "lan", tags);
  for (const char *device : {"wan", "lan"}) {
    middle.must({"sysctl", "-qw", fmt::format("net.ipv6.conf.{}.disable_ipv6=1", device)});
    middle.must({"ip", "link", "set", device, "up"});
  }
  for (const auto &[ns, device] : {std::pair{&client, "c0"}, std::pair{&server, "s0"}}) {
    ns->must({"sysctl", "-qw", fmt::format("net.ipv6.conf.{}.accept_ra=0", device)});
    ns->must({"ip", "link", "set", device, "up"});
  }
  for (unsigned host = 10; host < 20; ++host)
    client.must({"ip", "addr", "add", fmt::format("192.0.2.{}/24", host), "dev", "c0"});
  server.must({"ip", "addr", "add", std::string(server4) + "/24", "dev", "s0"});
  client.must({"ip", "-6", "addr", "add", std::string(client6) + "/64", "dev", "c0", "nodad"});
  server.must({"ip", "-6", "addr", "add", std::string(server6) + "/64", "dev", "s0", "nodad"});
}

bool GatedNetwork::ping(const std::string &to, const std::string &from) const {
  std::vector<std::string> command{"ping", "-q", "-n", "-c", "3", "-i", "0.1", "-W", "0.5"};
  if (!from.empty()) command.insert(command.end(), {"-I", from});
  command.push_back(to);
  return client.run(command).ok();
}

bool GatedNetwork::fetch(const std::string &host, const std::string &from) const {
  const bool six = host.find(':') != std::string::npos;
  std::vector<std::string> command{"curl", "-sS", "-f", "-o", "/dev/null", "--max-time", "3"};
  if (!from.empty()) command.insert(command.end(), {"--interface", from});
  command.push_back(six ? fmt::format("http://[{}]/page.html", host)
                        : fmt::format("http://{}/page.html", host));
  return client.run(command).ok();
}

void GatedNetwork::serve_web(const std::filesystem::path &folder) {
  write_text(folder / "page.html", std::string(100'000, 'w'));
  web_ = Child({.arguments = {"python3", "-m", "http.server", "--bind", "::", "80"},
                .output = folder / "web.log",
                .directory = folder,
                .netns = server.name()});
  EXPECT_TRUE(wait_until(
      [&] { return server.run({"curl", "-sS", "-o", "/dev/null", "http://127.0.0.1/page.html"}).ok(); }, 10s))
      << "the web server did not start: " << last_lines(folder / "web.log", 10);
}

void GatedNetwork::serve_iperf3(const std::filesystem::path &log) {
  iperf3_ = Child({.arguments = {"iperf3", "-s", "--forceflush"}, .output = log, .netns = server.name()});
  EXPECT_TRUE(wait_until([&] { return read_text(log).find("listening") != std::string::npos; }, 10s))
      << "iperf3 did not start: " << last_lines(log, 10);
}

} // namespace weir::test
