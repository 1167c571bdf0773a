// What `weirctl plan` says before anything happens, and that the generation then is what it said.
#include "tests/support/weir_pair.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace weir::test::weirctl_plan_test {

namespace {

using Json = nlohmann::json;

constexpr const char *lists = "- {name: hosts, action: deny, file: hosts.txt}\n"
                              "- {name: bans, action: deny, dynamic: true}\n";

class WeirctlPlan : public ::testing::Test {
protected:
  WeirctlPlan() : pair_(setup()) { write_addresses(pair_.folder() / "hosts.txt", 0, 20'000); }
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair_.start()); }

  static PairSetup setup() {
    PairSetup setup = PairSetup::idle();
    setup.lists = lists;
    return setup;
  }
  Json plan_with(const std::string &more) {
    pair_.write_config(lists, more);
    return pair_.must({"plan", pair_.config()});
  }
  static const Json &chosen_of(const Json &plan) {
    for (const Json &candidate : plan.at("candidates"))
      if (candidate.at("chosen").get<bool>()) return candidate;
    return plan;
  }

  WeirPair pair_;
};

TEST_F(WeirctlPlan, shows_every_candidate_with_its_price_and_why_the_others_were_not_taken) {
  const Json plan = pair_.must({"plan"});
  ASSERT_EQ(plan.at("candidates").size(), 4u);
  unsigned chosen = 0;
  for (const Json &candidate : plan.at("candidates")) {
    EXPECT_GT(candidate.at("ns_per_lookup").get<double>(), 0);
    EXPECT_GT(candidate.at("bytes").get<std::uint64_t>(), 0u);
    EXPECT_EQ(candidate.at("why_not").get<std::string>().empty(), candidate.at("chosen").get<bool>());
    chosen += candidate.at("chosen").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_FALSE(plan.at("hit_ratio_measured").get<bool>());
  EXPECT_NE(plan.at("why").get<std::string>().find("10 % hits (assumed"), std::string::npos)
      << plan.at("why");
  EXPECT_NE(plan.at("calibration").get<std::string>().find("built-in figures"), std::string::npos);
}

TEST_F(WeirctlPlan, takes_what_the_configuration_names_and_says_so) {
  for (const std::string predictor : {"inline_bits", "chained"})
    for (const std::string front : {"none", "split_block_bloom"}) {
      const Json plan = plan_with("predictor: " + predictor + "\nfront_filter: " + front + "\n");
      EXPECT_EQ(chosen_of(plan).at("predictor"), predictor);
      EXPECT_EQ(chosen_of(plan).at("front_filter"), front);
      EXPECT_NE(plan.at("why").get<std::string>().find("the configuration says so"), std::string::npos);
      EXPECT_EQ(plan.at("candidates").size(), 4u) << "what the others would have cost is shown still";
    }
}

TEST_F(WeirctlPlan, is_what_the_next_generation_becomes) {
  const Json plan = plan_with("predictor: chained\n");
  pair_.must({"apply", pair_.config()});
  const Json live = pair_.must({"generations"}).at("generations").back();
  EXPECT_TRUE(live.at("live").get<bool>());
  EXPECT_EQ(live.at("plan").at("predictor"), "chained");
  EXPECT_EQ(live.at("image_bytes"), plan.at("image_bytes"));
  EXPECT_TRUE(live.at("plan").at("trained").at("exact").get<bool>());
  EXPECT_EQ(pair_.verdict(numbered_address(7)), "drop");
  EXPECT_EQ(pair_.verdict("198.51.100.1"), "pass");
}

TEST_F(WeirctlPlan, an_unknown_predictor_is_refused_with_line_value_and_remedy) {
  pair_.write_config(lists, "predictor: chaned\n");
  const Reply reply = pair_.ctl({"plan", pair_.config()});
  EXPECT_EQ(reply.status, 1);
  const std::string said = reply.out + reply.err;
  EXPECT_NE(said.find("\\\"chaned\\\" is not one of auto, inline_bits, chained"), std::string::npos) << said;
}

// ---- memory ------------------------------------------------------------------------------------

std::uint64_t bytes_of(const Child &process, const std::string &what) {
  std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
  std::uint64_t kib = 0;
  for (std::string word; status >> word;)
    if (word == what + ":") status >> kib;
  return kib << 10;
}
// From now on VmHWM is what is taken from now on.
void forget_highest(const Child &process) {
  std::ofstream("/proc/" + std::to_string(process.pid()) + "/clear_refs") << 5;
}

struct Case {
  std::string name;
  std::function<void(const std::filesystem::path &)> write;
};
class WeirctlPlanMemory : public WeirctlPlan, public ::testing::WithParamInterface<Case> {};

// Hugepages are not counted as resident: where images lie in some, what is said may be more by so much.
TEST_P(WeirctlPlanMemory, is_within_a_tenth_of_what_both_processes_take) {
  const auto image_of = [](const Json &answer) {
    return answer.at("memory").at("image_bytes").get<std::uint64_t>();
  };
  GetParam().write(pair_.folder() / "hosts.txt");
  (void)pair_.must({"plan"}); // measures the machine, which takes memory of its own
  const Json memory = pair_.must({"plan"}).at("memory");
  const bool huge = memory.at("kind").get<std::string>().starts_with("hugepages");
  const std::uint64_t before = image_of(pair_.must({"status"}));
  const std::uint64_t for_packets = bytes_of(pair_.dataplane(), "VmRSS") - (huge ? 0 : before);
  forget_highest(pair_.control());
  forget_highest(pair_.dataplane());
  pair_.must({"apply", "--force"});
  const std::uint64_t after = image_of(pair_.must({"status"}));
  const auto expect = [&](const char *what, std::uint64_t resident, std::uint64_t images) {
    const auto said = memory.at(what).get<double>(), is = static_cast<double>(resident);
    EXPECT_GE(said, 0.9 * is) << what;
    EXPECT_LE(said, 1.1 * (is + static_cast<double>(huge ? images : 0))) << what;
  };
  expect("after_bytes", after, 0);
  expect("control_peak_bytes", bytes_of(pair_.control(), "VmHWM"), after);
  expect("dataplane_peak_bytes", bytes_of(pair_.dataplane(), "VmHWM") - for_packets, before + after);
  const auto is_written = [this] {
    for (const auto &file : std::filesystem::directory_iterator(pair_.folder() / "state"))
      if (file.path().filename().string().starts_with("staged")) return false;
    return true;
  };
  for (int i = 0; i < 200 && !is_written(); ++i) std::this_thread::sleep_for(50ms);
  std::this_thread::sleep_for(500ms); // the old image and the copy are unmapped aside
  expect("dataplane_bytes", bytes_of(pair_.dataplane(), "VmRSS") - for_packets, after);
  expect("control_bytes", bytes_of(pair_.control(), "VmRSS"), 0);
}

// Prefixes of 20 to 28 bits beside the numbered addresses.
void write_prefixes(const std::filesystem::path &file, std::uint32_t count) {
  std::ofstream out(file, std::ios::app);
  for (std::uint32_t i = 0; i < count; ++i) {
    const unsigned length = 20 + i % 9;
    const std::uint32_t host = (0x40000000 + i * 2654435761u % 0x40000000) >> (32 - length) << (32 - length);
    out << (host >> 24) << '.' << (host >> 16 & 255) << '.' << (host >> 8 & 255) << '.' << (host & 255) << '/'
        << length << '\n';
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, WeirctlPlanMemory,
    ::testing::Values(Case{"hosts", [](const auto &file) { write_addresses(file, 0, 2'000'000); }},
                      Case{"prefixes", [](const auto &file) { write_prefixes(file, 1'000'000); }},
                      Case{"a_mix",
                           [](const auto &file) {
                             write_addresses(file, 0, 600'000);
                             write_prefixes(file, 3'000);
                           }}),
    [](const auto &one) { return one.param.name; });

} // namespace
} // namespace weir::test::weirctl_plan_test
