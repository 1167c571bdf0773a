// Compact mode with a class map through a real dataplane: counters and samples name lists, and still tell what a judge denied.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/reader.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weir::test::class_map_gate_test {
namespace {

Prefix prefix(const char *text) { return parse_prefix(text).value(); }

class ClassMapGate : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    control_ = std::make_unique<DataplaneClient>(gate_->socket());
    ASSERT_TRUE(control_->connected());
  }
  void enforce(Match match = Match::source) {
    RuleSet rules;
    rules.policy.match = match;
    rules.lists = {{"ops", Side::allow, {prefix("10.0.0.7")}},
                   {"many", Side::deny, {prefix("10.9.0.0/24"), prefix("2001:db8::1")}},
                   {"few", Side::deny, {prefix("2001:db8::2")}}};
    for (std::uint32_t h = 0; h < 256; ++h)
      rules.lists[h % 16 == 0 ? 2 : 1].prefixes.push_back({Address::from_host(0x0A000000 + h), 32});
    ImageOptions options{.generation = ++generation_};
    options.stack = plan_of({.depth = 1, .bits = 16}, image::DenyFilterRole::judge);
    options.class_map = true;
    image_ = std::make_unique<TestImage>(rules, options);
    const WireMessage staged = control_->stage(image_->bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control_->commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }
  Verdict judge(const std::string &source, const std::string &destination = "192.0.2.1") {
    return gate_
        ->judge(0, FrameBuilder()
                       .ethernet()
                       .ipv4({.source = source.c_str(), .destination = destination.c_str()})
                       .udp(1, 2)
                       .frame()
                       .bytes)
        .verdict;
  }
  // Of the next message; none: nothing came.
  [[nodiscard]] std::vector<wire::Sample> next_samples() {
    WireMessage message;
    do message = control_->receive();
    while (message.header.type != wire::Type{} && !message.is(wire::Type::samples));
    std::vector<wire::Sample> samples;
    if (!message.is(wire::Type::samples)) return samples;
    samples.resize(message.payload.size() / sizeof(wire::Sample));
    std::memcpy(samples.data(), message.payload.data(), message.payload.size());
    return samples;
  }

  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<DataplaneClient> control_;
  std::unique_ptr<TestImage> image_;
  std::uint64_t generation_ = 0;
};

TEST_F(ClassMapGate, counts_a_denial_under_its_list_and_as_the_judges) {
  for (const Match match : {Match::source, Match::either}) {
    enforce(match);
    EXPECT_EQ(judge("10.0.0.1"), Verdict::drop);
    EXPECT_EQ(judge("10.0.0.16"), Verdict::drop);
    EXPECT_EQ(match == Match::either ? judge("192.0.2.9", "10.0.0.32") : judge("10.0.0.32"), Verdict::drop);
    EXPECT_EQ(judge("10.0.0.7"), Verdict::pass) << "an allow entry comes first";
    EXPECT_EQ(judge("10.9.0.1"), Verdict::drop) << "a prefix";
    EXPECT_EQ(judge("192.0.2.77"), Verdict::pass);
  }
  const std::string stats = control_->query(R"({"what":"stats"})");
  EXPECT_NE(stats.find(R"("ops":2)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("many":4)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("few":4)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("compact":0)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("denied":6})"), std::string::npos) << stats;
}

TEST_F(ClassMapGate, samples_name_the_list_and_say_that_a_judge_denied) {
  enforce();
  for (unsigned n = 0; n < 1100; ++n) EXPECT_EQ(judge("10.0.0.64"), Verdict::drop);
  unsigned by_stack = 0, again = 0, of_traffic = 0; // one packet in 1024 is sampled anyway
  while (of_traffic == 0) {
    const std::vector<wire::Sample> samples = next_samples();
    ASSERT_FALSE(samples.empty());
    for (const wire::Sample &sample : samples) {
      EXPECT_EQ(image::list_name(image_->view(), sample.list), "few");
      by_stack += sample.flags == wire::sample_by_stack;
      again += sample.flags == wire::sample_again;
      of_traffic += sample.flags == wire::sample_judged;
    }
  }
  EXPECT_GT(by_stack, 0u);
  EXPECT_EQ(again, 1u);
  EXPECT_EQ(of_traffic, 1u);
}

} // namespace
} // namespace weir::test::class_map_gate_test
