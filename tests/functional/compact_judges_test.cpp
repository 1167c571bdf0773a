// Compact mode with each judge, by the real programs: a replay in which a dynamic list gains and loses entries, held against the
// rules packet by packet.
#include "tests/support/capture_file.hpp"
#include "tests/support/replay_run.hpp"
#include "tests/support/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <random>
#include <thread>

namespace weir::test::compact_judges_test {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t hosts = 4'000, packets = 56'000, packets_per_s = 40'000, banned = 8, pardoned = 4;
constexpr double error_budget = 0.02;
// A burst in flight holds up to 64 packets, and a worker has five of them: younger packets know of a change.
constexpr std::uint64_t in_flight = 1'024;

std::string dotted(std::uint32_t host) {
  return fmt::format("{}.{}.{}.{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
}

const char *list_of_host(std::uint32_t number) { return number % 5 == 0 ? "few" : "hosts"; }

enum class Kind : std::uint8_t { listed, stranger, added };
struct Source {
  Kind kind;
  std::uint32_t number;
  [[nodiscard]] std::uint32_t host() const {
    switch (kind) {
    case Kind::listed: return 0x0B000000 + 7 * number;
    case Kind::stranger: return 0x0B000000 + 7 * (number % hosts) + 1 + number / hosts % 5;
    case Kind::added: break;
    }
    return 0x0B000006 + 7 * 301 * number;
  }
};

class CompactJudges : public testing::TestWithParam<const char *> {
protected:
  void write_workload(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Frame like = FrameBuilder().ethernet().ipv4().udp(1024, 53).payload(8).frame();
    std::vector<Frame> frames;
    for (std::uint32_t i = 0; i < packets; ++i) {
      const auto part = random() % 8;
      const Kind kind = part < 4 ? Kind::listed : part < 6 ? Kind::stranger : Kind::added;
      const auto most = kind == Kind::added ? banned : kind == Kind::listed ? hosts : 5 * hosts;
      const Source &source = sources.emplace_back(Source{kind, static_cast<std::uint32_t>(random() % most)});
      for (unsigned byte = 0; byte < 4; ++byte)
        like.bytes[26 + byte] = static_cast<std::uint8_t>(source.host() >> (24 - 8 * byte));
      like.timestamp_ns += 1'000'000'000 / packets_per_s;
      frames.push_back(like);
    }
    write_capture(run / "in.pcap", {.frames = frames});
    std::map<std::string, std::string> lists;
    for (std::uint32_t i = 0; i < hosts; ++i)
      lists[list_of_host(i)] += dotted(Source{Kind::listed, i}.host()) + '\n';
    for (const auto &[name, text] : lists) write_text(run / (name + ".txt"), text);
    write_text(
        run / "weir.yaml",
        fmt::format(
            "version: 1\nmode: {{compact: {{judge: {}, false_positive_budget: {}, unknown_budget: {}}}}}\n"
            "lists: [{{name: hosts, action: deny, file: hosts.txt}}, {{name: few, action: deny, file: "
            "few.txt}}, {{name: bans, action: deny, dynamic: true}}]\n",
            GetParam(), error_budget, error_budget));
  }
  // Of the first so many banned sources; returns how many packets were surely judged by then.
  std::uint64_t change(const char *verb, std::uint32_t count) {
    std::string entries;
    for (std::uint32_t i = 0; i < count; ++i)
      entries +=
          fmt::format(R"({}{{"prefix":"{}"}})", i == 0 ? "" : ",", dotted(Source{Kind::added, i}.host()));
    const ControlAnswer answer =
        run.ask(fmt::format(R"({{"verb":"{}","list":"bans","entries":[{}]}})", verb, entries));
    EXPECT_TRUE(answer.ok) << answer.text;
    return run.packets_judged();
  }

  // Packets that `stats` counts under no list, as soon as there are any.
  std::uint64_t without_a_list() {
    for (unsigned attempt = 0; attempt < 100; ++attempt) {
      const Json stats = Json::parse(run.ask(R"({"verb":"stats"})").text, nullptr, false);
      for (const Json &row : stats.contains("lists") ? stats.at("lists") : Json::array())
        if (row.at("name") == "compact" && row.at("hits") != 0) return row.at("hits").get<std::uint64_t>();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
  }

  ReplayRun run;
  std::vector<Source> sources; // of each packet
};

TEST_P(CompactJudges, deny_whom_the_rules_deny_while_a_dynamic_list_changes_and_next_to_nobody_else) {
  const std::uint64_t seed = seed_or(20'261'125);
  WEIR_TRACE_SEED(seed);
  write_workload(seed);
  run.start({"--rate", std::to_string(packets_per_s)});
  ASSERT_TRUE(run.wait_for_judged(2'000)) << run.logs();
  const Json plan =
      Json::parse(run.ask(R"({"verb":"status"})").text, nullptr, false).at("plan").at("deny_filter");
  if (std::string(GetParam()) != "auto") {
    EXPECT_EQ(plan.at("chosen"), GetParam());
  }
  EXPECT_GT(plan.at("built").at("bytes").get<std::uint64_t>(), 0u);
  const std::uint64_t added = change("list_add", banned) + in_flight;
  ASSERT_TRUE(run.wait_for_judged(added + 8'000)) << run.logs();
  // Before the removal: after it control may check denials of hosts that are in no list any more.
  const std::uint64_t without_list = without_a_list();
  const std::uint64_t before_removal = run.packets_judged();
  const std::uint64_t removed = change("list_del", pardoned) + in_flight;
  ASSERT_EQ(run.finish(), 0) << run.logs();
  ASSERT_LT(removed + 4'000, packets) << "nothing is left to be judged after the removal";

  std::uint64_t missed = 0, strangers = 0, in_error = 0, of_bans = 0, of_pardoned = 0;
  for (const VerdictRow &row : run.verdicts()) {
    const Source &source = sources[row.index];
    const bool drops = row.verdict == "drop";
    switch (source.kind) {
    case Kind::listed:
      missed += !drops;
      if (drops) {
        EXPECT_EQ(row.list, list_of_host(source.number)) << "the class map names it";
      }
      break;
    case Kind::stranger:
      ++strangers;
      in_error += drops;
      break;
    case Kind::added:
      if (row.index > added && (source.number >= pardoned || row.index < before_removal)) {
        EXPECT_TRUE(drops) << "packet " << row.index << ", banned host " << source.number;
        ++of_bans;
      } else if (row.index > removed && source.number < pardoned) {
        EXPECT_FALSE(drops) << "packet " << row.index << ", pardoned host " << source.number;
        ++of_pardoned;
      }
    }
  }
  EXPECT_GT(without_list, 0u) << "none of " << in_error << " denials in error went to `compact`";
  EXPECT_LE(without_list, in_error);
  EXPECT_EQ(missed, 0u) << "a denied host was let through";
  EXPECT_GT(of_bans, 500u);
  EXPECT_GT(of_pardoned, 100u);
  EXPECT_LE(static_cast<double>(in_error), error_budget * 1.5 * static_cast<double>(strangers));
}

INSTANTIATE_TEST_SUITE_P(All, CompactJudges, testing::Values("stacked", "chained_and", "fuse", "auto"),
                         [](const auto &judge) { return std::string(judge.param); });

} // namespace
} // namespace weir::test::compact_judges_test
