// Metrics and offenders of a running pair, as users meet them: curl, promtool, weirctl.
#include "tests/support/weir_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <map>
#include <sstream>
#include <thread>

namespace weir::test::metrics_test {
namespace {

using testing::HasSubstr;

Outcome shell(const std::string &command) { return run({"/bin/sh", "-c", command}); }

// As `make deps` unpacks it; empty: it could not be fetched.
std::string promtool() {
  const auto tool = std::filesystem::current_path() / "build/promtool/usr/bin/promtool";
  return std::filesystem::exists(tool) ? tool.string() : std::string();
}

PairSetup setup(const std::string &more) {
  PairSetup setup = PairSetup::idle();
  setup.lists =
      "- {name: drop, action: deny, entries: [10.0.0.0/8]}\n- {name: bans, action: deny, dynamic: true}\n";
  setup.more = more;
  return setup;
}

TEST(MetricsOfAPair, are_what_promtool_takes_and_grow_with_what_happens) {
  const TempDir dir;
  const std::string socket = dir / "metrics.sock";
  WeirPair pair(setup("metrics: {listen: " + socket + "}\noffenders: {}\n"));
  pair.start();
  const std::string scrape =
      "curl -sS --retry 20 --retry-all-errors --retry-delay 0 --unix-socket " + socket + " http://x/metrics";
  const Outcome first = shell(scrape);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("\nweir_dataplane_up 1\n"));
  EXPECT_THAT(first.out, HasSubstr("weir_list_entries{list=\"drop\",kind=\"ipv4_prefixes\"} 1\n"));
  if (!promtool().empty()) { // the other test says when it is missing
    const Outcome checked = shell(scrape + " | " + promtool() + " check metrics");
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  }

  pair.must({"list", "add", "bans", "203.0.113.9"});
  ASSERT_TRUE(pair.must({"apply", "--force"}).value("in_force", false));
  const Outcome second = shell(scrape);
  EXPECT_THAT(second.out, HasSubstr("weir_list_entries{list=\"bans\",kind=\"ipv4_hosts\"} 1\n"));
  EXPECT_THAT(second.out, HasSubstr("weir_swap_duration_seconds_count 2\n"));
  EXPECT_THAT(second.out, testing::Not(HasSubstr("weir_change_duration_seconds_count 0\n")));
  EXPECT_EQ(shell("curl -sS -o /dev/null -w '%{http_code}' --unix-socket " + socket + " http://x/other").out,
            "404");
}

// Series by name and labels.
std::map<std::string, double> series_of(const std::string &text) {
  std::map<std::string, double> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t space = line.rfind(' '); !line.starts_with('#') && space != std::string::npos)
      all.emplace(line.substr(0, space), std::stod(line.substr(space + 1)));
  return all;
}

// Two ports that have packets at every poll.
TEST(MetricsOfAPair, of_two_scrapes_under_load_lose_no_series_and_counters_only_grow) {
  const TempDir dir;
  const std::string socket = dir / "metrics.sock";
  PairSetup busy = setup("metrics: {listen: " + socket + "}\n");
  busy.vdevs = {"net_null0", "net_null1"};
  WeirPair pair(busy);
  pair.start();
  const auto scrape = [&] {
    const Outcome scraped = shell("curl -sS --retry 20 --retry-all-errors --retry-delay 0 --unix-socket " +
                                  socket + " http://x/metrics");
    EXPECT_EQ(scraped.code, 0) << scraped.err;
    write_text(dir / "scrape", scraped.out);
    if (!promtool().empty()) {
      const Outcome checked = shell(promtool() + " check metrics <" + (dir / "scrape").string());
      EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    }
    return series_of(scraped.out);
  };
  const auto first = scrape();
  ASSERT_EQ(first.at("weir_dataplane_up"), 1);
  pair.must({"list", "add", "bans", "203.0.113.9"});
  std::this_thread::sleep_for(1s);
  const auto second = scrape();
  unsigned grown = 0;
  for (const auto &[name, value] : first) {
    const auto again = second.find(name);
    ASSERT_NE(again, second.end()) << name << " vanished";
    const std::string base = name.substr(0, name.find('{'));
    if (!base.ends_with("_total") && !base.ends_with("_count") && !base.ends_with("_bucket")) continue;
    EXPECT_GE(again->second, value) << name;
    grown += again->second > value ? 1 : 0;
  }
  EXPECT_GT(grown, 10u);
  const std::string received = "weir_port_rx_packets_total{port=\"wan\"}";
  ASSERT_TRUE(first.contains(received)) << read_text(dir / "scrape");
  EXPECT_GT(second.at(received) - first.at(received), 10'000) << "a port that is never empty";
}

TEST(MetricsOfAPair, move_and_end_with_the_rules) {
  const TempDir dir;
  WeirPair pair(setup("metrics: {listen: " + (dir / "a.sock").string() + "}\n"));
  pair.start();
  const auto serves = [&](const char *name) {
    return shell("curl -sS --retry 20 --retry-all-errors --retry-delay 0 --unix-socket " +
                 (dir / name).string() + " http://x/metrics")
               .code == 0;
  };
  EXPECT_TRUE(serves("a.sock"));
  const PairSetup moved = setup("");
  pair.write_config(moved.lists, "metrics: {listen: " + (dir / "b.sock").string() + "}\n");
  pair.must({"apply"});
  EXPECT_TRUE(serves("b.sock"));
  EXPECT_FALSE(std::filesystem::exists(dir / "a.sock"));
}

TEST(Alerts, are_raised_by_what_hurts_and_by_nothing_else) {
  if (promtool().empty()) GTEST_SKIP() << "promtool could not be fetched: make deps says why";
  const std::string folder = (std::filesystem::current_path() / "packaging/prometheus").string();
  const Outcome tested = shell("cd " + folder + " && " + promtool() + " check rules weir.rules.yml && " +
                               promtool() + " test rules weir.rules.test.yml");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_THAT(tested.out, HasSubstr("SUCCESS"));
}

TEST(OffendersOfAPair, are_marked_and_explained_over_a_restart_of_the_dataplane) {
  WeirPair pair(setup("offenders: {action: drop, seed: 3}\nguard: {never_deny: [192.0.2.0/24]}\n"));
  pair.start();
  EXPECT_EQ(pair.must({"offenders"}).at("filter"), "rotating");
  EXPECT_EQ(pair.must({"offender", "mark", "203.0.113.9", "2001:db8::9"}).at("marks"), 2);
  EXPECT_EQ(pair.ctl({"explain", "203.0.113.9"}).json().at("reason"), "offender");
  const Reply never = pair.ctl({"offender", "mark", "192.0.2.1"});
  EXPECT_EQ(never.status, 1);
  EXPECT_THAT(never.out + never.err, HasSubstr("guard.never_deny"));
  const Reply train = pair.ctl({"offender", "train"});
  EXPECT_EQ(train.status, 1);
  EXPECT_THAT(train.out + train.err, HasSubstr("too few"));
  EXPECT_EQ(pair.ctl({"offender", "mark", "nonsense"}).status, 2);

  ASSERT_EQ(pair.dataplane().stop(SIGTERM, 20s), 0);
  pair.start_dataplane();
  ASSERT_TRUE(pair.ready());
  EXPECT_EQ(pair.must({"offenders"}).at("marks"), 2);
  EXPECT_EQ(pair.ctl({"explain", "2001:db8::9"}).json().at("verdict"), "drop");
  EXPECT_EQ(pair.must({"offender", "unmark", "203.0.113.9"}).at("marks"), 1);
  EXPECT_EQ(pair.ctl({"explain", "203.0.113.9"}).json().at("reason"), "default");
}

} // namespace
} // namespace weir::test::metrics_test
