// Compact mode with the real programs: what a filter without tables does to sources that nothing denies,
// before and after control has learned who they are, and after they have become others.
#include "tests/support/capture_file.hpp"
#include "tests/support/replay_run.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/weir_pair.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <random>
#include <set>
#include <thread>

namespace weir::test::compact_test {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t hosts = 20'000, sources = 2'000, hottest = 50, hot = 200;
constexpr std::uint64_t memory_bytes = hosts * 6 / 8; // six bits a host
constexpr double budget =
    0.005; // of false positives; a source that nobody knows meets 0.13 in a plain filter
constexpr std::uint32_t phase_packets[2] = {160'000, 200'000}, packets_per_s = 40'000;

std::string dotted(std::uint32_t host) {
  return fmt::format("{}.{}.{}.{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
}

// A tenth of the packets comes from denied hosts, the others from sources after a Zipf law; these are others
// in each phase.
class Workload {
public:
  explicit Workload(std::uint64_t seed) : random_(seed) {
    std::vector<double> weights;
    for (std::uint32_t rank = 1; rank <= sources; ++rank) weights.push_back(1.0 / rank);
    rank_ = std::discrete_distribution<std::uint32_t>(weights.begin(), weights.end());
    Frame like = FrameBuilder().ethernet().ipv4().udp(1024, 53).payload(8).frame();
    for (std::uint32_t phase = 0; phase < 2; ++phase)
      for (std::uint32_t i = 0; i < phase_packets[phase]; ++i) {
        const bool denied = random_() % 10 == 0;
        const std::uint32_t number = denied ? static_cast<std::uint32_t>(random_() % hosts) : rank_(random_);
        const std::uint32_t host = denied ? denied_host(number) : source(phase, number);
        of_.push_back({denied, phase, number});
        for (unsigned byte = 0; byte < 4; ++byte)
          like.bytes[26 + byte] = static_cast<std::uint8_t>(host >> (24 - 8 * byte));
        like.timestamp_ns += 1'000'000'000 / packets_per_s;
        frames_.push_back(like);
      }
  }
  static std::uint32_t denied_host(std::uint32_t number) { return 0x0B000000 + 7 * number; }
  // Between denied hosts, since only about those that are near one anybody is asked; ranks are scattered.
  static std::uint32_t source(std::uint32_t phase, std::uint32_t rank) {
    return denied_host(rank * 40'503 % hosts) + (phase == 0 ? 2 : 5);
  }
  struct Of {
    bool denied;
    std::uint32_t phase, number; // of a host, or the rank of a source
  };
  [[nodiscard]] const Of &of(std::uint64_t packet) const { return of_[packet]; }
  void write(const std::filesystem::path &file) const { write_capture(file, {.frames = frames_}); }

private:
  std::mt19937_64 random_;
  std::discrete_distribution<std::uint32_t> rank_;
  std::vector<Of> of_;
  std::vector<Frame> frames_;
};

struct Seen { // of one generation in one phase
  std::uint64_t negatives = 0, hits = 0;
  std::set<std::uint32_t> hot_hit; // ranks
  [[nodiscard]] auto hottest_hit() const {
    return std::distance(hot_hit.begin(), hot_hit.lower_bound(hottest));
  }
  [[nodiscard]] double share() const {
    return negatives == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(negatives);
  }
};

class Compact : public testing::Test {
protected:
  // What control says about each generation while it is live.
  void watch() {
    while (run.dataplane.running()) {
      const Json status = Json::parse(run.ask(R"({"verb":"status"})").text, nullptr, false);
      if (status.is_object() && status.value("generation", 0u) > 0)
        plans[status.at("generation").get<std::uint64_t>()] = status.at("plan");
      std::this_thread::sleep_for(100ms);
    }
  }
  // By generation and phase; every packet of a denied host must have been dropped.
  void count(const Workload &workload) {
    std::uint64_t missed = 0;
    for (const VerdictRow &row : run.verdicts()) {
      const Workload::Of &of = workload.of(row.index);
      if (of.denied) {
        missed += row.verdict != "drop";
        EXPECT_EQ(row.list, "hosts");
        continue;
      }
      Seen &in = seen[{row.generation, of.phase}];
      ++in.negatives;
      if (row.verdict != "drop") continue;
      EXPECT_EQ(row.list, "hosts") << "the class map has no other, and the dataplane no rules";
      ++in.hits;
      if (of.number < hot) in.hot_hit.insert(of.number);
    }
    EXPECT_EQ(missed, 0u) << "a denied host was let through";
  }
  [[nodiscard]] std::string story() const {
    std::string text;
    for (const auto &[at, in] : seen)
      text +=
          fmt::format("generation {} phase {}: {} of {} packets in error, {} of the {} hottest sources hit\n",
                      at.first, at.second, in.hits, in.negatives, in.hot_hit.size(), hot);
    return text;
  }
  [[nodiscard]] std::string planned() const {
    std::string text;
    for (const auto &[generation, plan] : plans)
      text += fmt::format("generation {}: {}\n  {}\n", generation, plan.value("built_for", ""),
                          plan.at("deny_filter").dump());
    return text;
  }
  // The last generation that judged enough packets of a phase.
  [[nodiscard]] std::uint64_t last_of(std::uint32_t phase) const {
    std::uint64_t last = 0;
    for (const auto &[at, in] : seen)
      if (at.second == phase && in.negatives > 20'000) last = at.first;
    return last;
  }

  ReplayRun run;
  std::map<std::uint64_t, Json> plans;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Seen> seen;
};

TEST_F(Compact, a_gate_that_hits_hot_sources_learns_them_and_recovers_after_a_shift_by_itself) {
  const std::uint64_t seed = seed_or(20'261'122);
  WEIR_TRACE_SEED(seed);
  const Workload workload(seed);
  workload.write(run / "in.pcap");
  std::string list;
  for (std::uint32_t i = 0; i < hosts; ++i) list += dotted(Workload::denied_host(i)) + '\n';
  write_text(run / "hosts.txt", list);
  write_text(
      run / "weir.yaml",
      fmt::format(
          "version: 1\nmode: {{compact: {{judge: stacked, false_positive_budget: {}, unknown_budget: 0.2, "
          "memory: {}}}}}\n"
          "samples: {{rate: 1/16}}\nreplan: {{interval: 1s}}\n"
          "lists: [{{name: hosts, action: deny, file: hosts.txt}}, {{name: bans, action: deny, dynamic: "
          "true}}]\n",
          budget, memory_bytes));
  run.start({"--rate", std::to_string(packets_per_s)});
  watch();
  ASSERT_EQ(run.finish(), 0) << run.logs();
  count(workload);
  std::cout << story();
  SCOPED_TRACE(story() + planned());

  // The first image knows nobody: one layer, a plain filter in all the memory there is.
  const std::uint64_t first = seen.begin()->first.first;
  ASSERT_TRUE(plans.contains(first));
  const Json &plain = plans[first].at("deny_filter");
  EXPECT_EQ(plain.at("layers").size(), 1u);
  EXPECT_LE(plain.at("bytes").get<double>(), memory_bytes);
  EXPECT_GE((seen[{first, 0}].hot_hit.size()), 1u) << "a plain filter hits one source in eighteen";

  // Whoever is hot is known by the end of each phase, in no more memory.
  for (const std::uint32_t phase : {0u, 1u}) {
    SCOPED_TRACE(fmt::format("phase {}", phase));
    const std::uint64_t last = last_of(phase);
    ASSERT_GT(last, first);
    ASSERT_TRUE(plans.contains(last));
    const Json &stack = plans[last].at("deny_filter");
    EXPECT_GE(stack.at("layers").size(), 3u);
    EXPECT_LE(stack.at("built").at("bytes").get<double>(), 1.05 * memory_bytes);
    const Seen &in = seen[{last, phase}];
    EXPECT_LE(in.hottest_hit(), 1) << "known sources are hit next to never";
    EXPECT_LE(in.share(), budget) << "what was asked for, whatever the plan feared";
  }

  // Those of the second phase were strangers to the image that the first one had led to.
  ASSERT_GT(last_of(1), last_of(0)) << "nothing was planned anew";
  EXPECT_GE((seen[{last_of(0), 1}].hot_hit.size()), 1u);
  bool shift_seen = false;
  for (const auto &[generation, plan] : plans)
    shift_seen |= plan.value("built_for", "").find("the traffic has shifted") != std::string::npos ||
                  plan.value("built_for", "").find("the stacked filter erred in") != std::string::npos;
  EXPECT_TRUE(shift_seen);
}

class CompactPair : public testing::Test {
protected:
  static PairSetup setup() {
    PairSetup setup = PairSetup::idle();
    setup.lists =
        "- {name: hosts, action: deny, file: hosts.txt}\n- {name: bans, action: deny, dynamic: true}\n";
    setup.more = "mode: {compact: {memory: 64KiB}}\n";
    return setup;
  }
  CompactPair() : pair(setup()) { write_addresses(pair.folder() / "hosts.txt", 0, 20'000); }
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair.start()); }
  WeirPair pair;
};

TEST_F(CompactPair, too_little_memory_is_refused_with_the_remedy_and_the_running_rules_stay) {
  EXPECT_EQ(pair.verdict(numbered_address(7)), "drop");
  const auto generation = pair.must({"status"}).at("generation");
  pair.write_config(setup().lists, "mode: {compact: {memory: 4KiB}}\n");
  const Reply refused = pair.ctl({"apply", pair.config()});
  EXPECT_EQ(refused.status, 1);
  const std::string said = refused.out + refused.err;
  EXPECT_NE(said.find("mode.compact.memory: 4.0 KiB is too little for"), std::string::npos) << said;
  EXPECT_NE(said.find("allow more memory or a larger unknown_budget, or write mode: exact"),
            std::string::npos)
      << said;
  EXPECT_EQ(pair.ctl({"plan", pair.config()}).status, 1) << "and said beforehand";
  EXPECT_EQ(pair.must({"status"}).at("generation"), generation);
  EXPECT_EQ(pair.verdict(numbered_address(7)), "drop");
  EXPECT_EQ(pair.must({"status"}).at("mode"), "compact");
}

TEST_F(CompactPair, single_entries_come_and_go_and_a_plan_is_made_anew_on_request) {
  pair.must({"list", "add", "bans", "203.0.113.9"});
  EXPECT_EQ(pair.verdict("203.0.113.9"), "drop");
  pair.must({"list", "del", "bans", "203.0.113.9"});
  EXPECT_EQ(pair.verdict("203.0.113.9"), "pass");
  const auto before = pair.must({"status"}).at("generation").get<std::uint64_t>();
  pair.must({"plan", "--apply"});
  const Json status = pair.must({"status"});
  EXPECT_GT(status.at("generation").get<std::uint64_t>(), before);
  EXPECT_EQ(status.at("plan").at("built_for"), "plan: asked for");
  EXPECT_EQ(pair.verdict(numbered_address(19'999)), "drop");
  const Reply both = pair.ctl({"plan", "--apply", pair.config()});
  EXPECT_NE(both.status, 0) << "which rules?";
}

TEST_F(CompactPair, a_denial_has_its_list_and_one_in_error_none) {
  const auto list_of = [&](const std::string &address) {
    const Json why = pair.must({"explain", address});
    return why.at("list").is_string() ? why.at("list").get<std::string>() : std::string();
  };
  pair.must({"list", "add", "bans", "203.0.113.9"});
  EXPECT_EQ(list_of("203.0.113.9"), "bans");
  EXPECT_EQ(list_of(numbered_address(7)), "hosts");
  pair.must({"list", "add", "bans", numbered_address(20'500)});
  EXPECT_EQ(list_of(numbered_address(20'500)), "bans") << "a neighbour that came later";
  pair.write_config(setup().lists, "mode: {compact: {memory: 12KiB, unknown_budget: 0.5}}\n");
  const Json plan = pair.must({"plan", pair.config()});
  EXPECT_GT(plan.at("deny_filter").at("class_map_bytes"), 0);
  pair.must({"apply", pair.config()});
  std::string wrong;
  for (std::uint32_t i = 20'000; i < 20'400 && wrong.empty(); ++i)
    if (pair.verdict(numbered_address(i)) == "drop") wrong = numbered_address(i);
  ASSERT_NE(wrong, "") << "a filter of five bits a host errs in one address of ten";
  EXPECT_EQ(list_of(wrong), "compact") << "no rule denies it";
  EXPECT_EQ(list_of(numbered_address(20'500)), "bans");
}

} // namespace
} // namespace weir::test::compact_test
