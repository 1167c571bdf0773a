// Compact mode through a real dataplane: what is counted, sampled, relieved and told.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/reader.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace weir::test::deny_filter_gate_test {
namespace {

constexpr unsigned wan = 0;

Prefix prefix(const char *text) { return parse_prefix(text).value(); }

class DenyFilterGate : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    control_ = std::make_unique<DataplaneClient>(gate_->socket());
    ASSERT_TRUE(control_->connected());
  }

  // One layer of few bits: it is often wrong.
  void enforce(image::DenyFilterRole role, Match match = Match::source) {
    RuleSet rules;
    rules.policy.match = match;
    rules.lists = {{"ops", Side::allow, {prefix("10.0.0.7")}},
                   {"bad", Side::deny, {prefix("10.9.0.0/24"), prefix("2001:db8::1")}}};
    for (std::uint32_t h = 0; h < 64; ++h)
      rules.lists[1].prefixes.push_back({Address::from_host(0x0A000000 + h), 32});
    ImageOptions options{.generation = ++generation_};
    options.stack = plan_of({.depth = 1, .bits = 4}, role);
    image_ = std::make_unique<TestImage>(rules, options);
    const WireMessage staged = control_->stage(image_->bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control_->commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }

  // An address that no rule denies, and the filter does.
  [[nodiscard]] Address wrongly_denied() const { return wrongly_denied(1)[0]; }
  [[nodiscard]] std::vector<Address> wrongly_denied(std::size_t count) const {
    std::vector<Address> all;
    for (std::uint32_t h = 0x0A000100; all.size() < count; ++h)
      if (const Address a = Address::from_host(h); image::lookup(image_->view(), Side::deny, a) != 0)
        all.push_back(a);
    return all;
  }
  Verdict judge(const std::string &source, const std::string &destination = "192.0.2.1") {
    return gate_
        ->judge(wan, FrameBuilder()
                         .ethernet()
                         .ipv4({.source = source.c_str(), .destination = destination.c_str()})
                         .udp(1, 2)
                         .frame()
                         .bytes)
        .verdict;
  }
  WireMessage relieve(const std::vector<Address> &addresses, std::uint64_t generation) {
    const wire::Relieve about{.store_id = control_->store_id,
                              .generation = Generation(generation),
                              .count = static_cast<std::uint32_t>(addresses.size())};
    std::vector<std::byte> payload(sizeof about);
    std::memcpy(payload.data(), &about, sizeof about);
    for (const Address &a : addresses) {
      const wire::RelievedAddress one{.family = a.family, .address = a.bytes};
      const auto bytes = std::as_bytes(std::span(&one, 1));
      payload.insert(payload.end(), bytes.begin(), bytes.end());
    }
    return control_->ask(wire::Type::relieve, payload);
  }

  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<DataplaneClient> control_;
  std::unique_ptr<TestImage> image_;
  std::uint64_t generation_ = 0;
};

TEST_F(DenyFilterGate, counts_what_the_filter_denies_under_compact) {
  enforce(image::DenyFilterRole::judge);
  EXPECT_EQ(judge("10.0.0.1"), Verdict::drop);
  EXPECT_EQ(judge("10.0.0.7"), Verdict::pass) << "an allow entry comes first";
  EXPECT_EQ(judge("10.9.0.1"), Verdict::drop);
  EXPECT_EQ(judge(to_string(wrongly_denied())), Verdict::drop);
  const std::string stats = control_->query(R"({"what":"stats"})");
  EXPECT_NE(stats.find(R"("lists":{"ops":1,"bad":1,"compact":2})"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("deny_filter_generation":{"asked":3,)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("denied":2})"), std::string::npos) << stats;
  const std::string info = control_->query(R"({"what":"info"})");
  EXPECT_NE(info.find(R"("deny_filter":{"role":"judge","base":"split-block Bloom filter")"),
            std::string::npos)
      << info;
}

TEST_F(DenyFilterGate, in_front_of_a_table_knows_how_often_it_was_wrong) {
  enforce(image::DenyFilterRole::front);
  std::uint64_t wrong = 0;
  for (std::uint32_t h = 0x0A000100; h < 0x0A000140; ++h) {
    const Address a = Address::from_host(h);
    wrong += image_->view().deny_filter.contains(host_hash(image_->view(), a));
    EXPECT_EQ(judge(to_string(a)), Verdict::pass);
  }
  EXPECT_EQ(judge("10.0.0.1"), Verdict::drop);
  EXPECT_GT(wrong, 0u);
  const std::string wanted = "\"deny_filter\":{\"asked\":65,\"accepted\":" + std::to_string(wrong + 1) +
                             ",\"false_accepted\":" + std::to_string(wrong) + ",\"denied\":0}";
  const std::string stats = control_->query(R"({"what":"stats"})");
  EXPECT_NE(stats.find(wanted), std::string::npos) << wanted << " in " << stats;
}

TEST_F(DenyFilterGate, samples_each_denial_of_the_filter_apart_from_the_others) {
  for (const Match match : {Match::source, Match::either}) {
    enforce(image::DenyFilterRole::judge, match);
    const std::string wrong = to_string(wrongly_denied());
    EXPECT_EQ(judge("10.9.0.1"), Verdict::drop); // by a table
    EXPECT_EQ(match == Match::either ? judge("192.0.2.1", wrong) : judge(wrong), Verdict::drop);
    WireMessage message;
    do message = control_->receive();
    while (message.header.type != wire::Type{} && !message.is(wire::Type::samples));
    ASSERT_TRUE(message.is(wire::Type::samples));
    ASSERT_EQ(message.payload.size(), sizeof(wire::Sample));
    const auto sample = message.as<wire::Sample>();
    EXPECT_EQ(sample.kind, wire::SampleKind::denied);
    EXPECT_EQ(sample.flags, wire::sample_by_stack);
    EXPECT_EQ(sample.one_in, 1u);
    EXPECT_EQ(sample.list, compact_list);
    EXPECT_EQ(to_string(Address{sample.family, sample.address}), wrong);
  }
}

TEST_F(DenyFilterGate, names_a_source_at_once_when_it_comes_again_and_then_keeps_quiet_for_a_while) {
  enforce(image::DenyFilterRole::judge);
  const std::string wrong = to_string(wrongly_denied());
  for (unsigned n = 0; n < 5; ++n) EXPECT_EQ(judge(wrong), Verdict::drop);
  unsigned again = 0, denials = 0;
  while (denials < 5) {
    WireMessage message;
    do message = control_->receive();
    while (message.header.type != wire::Type{} && !message.is(wire::Type::samples));
    ASSERT_TRUE(message.is(wire::Type::samples));
    for (std::size_t at = 0; at < message.payload.size(); at += sizeof(wire::Sample)) {
      wire::Sample sample;
      std::memcpy(&sample, message.payload.data() + at, sizeof sample);
      EXPECT_EQ(to_string(Address{sample.family, sample.address}), wrong);
      (sample.flags == wire::sample_again ? again : denials) += 1;
    }
  }
  EXPECT_EQ(again, 1u);
}

TEST_F(DenyFilterGate, says_of_every_thousandth_packet_whether_a_list_let_it_pass) {
  enforce(image::DenyFilterRole::judge);
  for (const bool allowed : {false, true}) {
    for (unsigned n = 0; n < 1100; ++n) (void)judge(allowed ? "10.0.0.7" : "198.51.100.1");
    WireMessage message;
    do message = control_->receive();
    while (message.header.type != wire::Type{} && !message.is(wire::Type::samples));
    const auto sample = message.as<wire::Sample>();
    EXPECT_EQ(sample.kind, wire::SampleKind::passed);
    EXPECT_EQ(sample.flags, allowed ? 0 : wire::sample_by_default);
  }
}

TEST_F(DenyFilterGate, relieves_at_once_and_refuses_what_it_cannot_relieve) {
  EXPECT_TRUE(relieve({}, 1).is(wire::Type::refused)) << "no image";
  enforce(image::DenyFilterRole::judge);
  const Address wrong = wrongly_denied();
  const std::string source = to_string(wrong);
  EXPECT_EQ(judge(source), Verdict::drop);
  const WireMessage done = relieve({wrong, parse_address("192.0.2.77").value()}, generation_);
  ASSERT_TRUE(done.is(wire::Type::relieved)) << done.refusal();
  EXPECT_EQ(done.as<wire::Relieved>().relieved, 1u);
  EXPECT_EQ(done.as<wire::Relieved>().unchanged, 1u);
  EXPECT_EQ(judge(source), Verdict::pass);
  EXPECT_NE(relieve({wrong}, 99).refusal().find("but 1 is live"), std::string::npos);
  Address spare = wrong;
  spare.bytes[9] = 1;
  EXPECT_NE(relieve({spare}, generation_).refusal().find("spare bytes"), std::string::npos);
  enforce(image::DenyFilterRole::front);
  EXPECT_NE(relieve({wrong}, generation_).refusal().find("no filter that judges alone"), std::string::npos);
}

// Each address that takes the place of another costs a grace period, and whoever asks waits behind it.
TEST_F(DenyFilterGate, lets_a_message_displace_a_few_and_takes_others_a_while_later) {
  enforce(image::DenyFilterRole::judge);
  const auto places = std::size_t{image_->view().v4[Side::deny].overlay.count} * table::LineV4::slots;
  const std::vector<Address> wrong = wrongly_denied(places / 4 + 1000);
  ASSERT_LE(places / 4, std::size_t{wire::relieve_max});
  const std::span all(wrong);
  const auto relieved = [&](std::span<const Address> some) {
    const WireMessage done = relieve({some.begin(), some.end()}, generation_);
    EXPECT_TRUE(done.is(wire::Type::relieved)) << done.refusal();
    return done.as<wire::Relieved>();
  };
  const wire::Relieved first = relieved(all.first(places / 4));
  EXPECT_GT(first.relieved, places / 5) << "some find both of their lines full";
  std::uint32_t displaced = 0;
  for (std::size_t round = 0; round < 5; ++round) {
    const wire::Relieved more = relieved(all.subspan(places / 4 + round * 200, 200));
    EXPECT_LE(more.relieved, 128u) << "room that is left, and 64 more";
    EXPECT_EQ(more.relieved + more.no_room, 200u);
    displaced += more.relieved;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_GT(displaced, 64u) << "a while later others are";
}

TEST_F(DenyFilterGate, relieves_in_the_staged_image_too) {
  enforce(image::DenyFilterRole::judge);
  const Address wrong = wrongly_denied();
  const auto next = relabelled(image_->bytes(), 2, 0);
  ASSERT_TRUE(control_->stage(next).is(wire::Type::staged));
  ASSERT_TRUE(relieve({wrong}, generation_).is(wire::Type::relieved));
  ASSERT_TRUE(control_->commit(2, 0).is(wire::Type::committed));
  EXPECT_EQ(judge(to_string(wrong)), Verdict::pass);
}

} // namespace
} // namespace weir::test::deny_filter_gate_test
