// The P4 program as a worker's judge: what goes into force, what is refused, what outgrows its registers.
#include "dataplane/packet/p4_target.hpp"
#include "dataplane/packet/stages.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/test_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir::dataplane::p4_target_test {
namespace {

using test::TestImage;

// `count` denied IPv6 hosts: 2001:db8::, 2001:db8::1, ...
test::RuleSet hosts(std::uint32_t count) {
  test::RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, {}}};
  for (std::uint32_t n = 0; n < count; ++n) {
    Address address = *parse_address("2001:db8::");
    for (unsigned byte = 0; byte < 4; ++byte)
      address.bytes[15 - byte] = static_cast<std::uint8_t>(n >> 8 * byte);
    rules.lists[0].prefixes.push_back({address, 128});
  }
  return rules;
}

TestImage image_of(std::uint32_t count, HashFamily family = HashFamily::jhash) {
  return TestImage(hosts(count), {.family = family});
}

class P4TargetTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(test::start_eal());
    auto created = P4Target::create({.sides = {PortSide::none}, .without_image = Verdict::drop});
    ASSERT_TRUE(created) << created.error().message;
    target_ = std::move(*created);
  }

  // What becomes of a packet from this source.
  Decision judge(const std::string &source, const image::ImageView *view) {
    test::SwxBurst mbufs;
    mbufs.add(test::FrameBuilder().ethernet().ipv6({.source = source}).udp(1, 2).frame().bytes);
    burst_->image = nullptr;
    if (view != nullptr) {
      image_->view = *view;
      burst_->image = image_.get();
    }
    burst_->from = &queue_;
    burst_->count = 1;
    burst_->packets[0] = const_cast<rte_mbuf *>(mbufs.packets()[0].mbuf);
    (void)measure_burst(*burst_);
    const auto judging = target_->judging();
    parse_burst(*burst_);
    target_->judge(*burst_);
    return burst_->decisions[0];
  }
  Decision judge(const std::string &source, const TestImage &image) { return judge(source, &image.view()); }

  std::unique_ptr<P4Target> target_;

private:
  RxQueue queue_;
  std::unique_ptr<Burst> burst_ = std::make_unique<Burst>();
  std::unique_ptr<AttachedImage> image_ = std::make_unique<AttachedImage>();
};

TEST_F(P4TargetTest, begins_without_an_image) {
  const Decision decision = judge("2001:db8::1", nullptr);
  EXPECT_EQ(decision.verdict, Verdict::drop);
  EXPECT_EQ(decision.reason, Reason::no_image);
}

TEST_F(P4TargetTest, judges_by_what_was_loaded_and_names_the_list) {
  const TestImage image = image_of(100);
  ASSERT_TRUE(target_->load(image.view()));
  target_->in_force();
  const Decision denied = judge("2001:db8::63", image), other = judge("2001:db8::64", image);
  EXPECT_EQ(denied.verdict, Verdict::drop);
  EXPECT_EQ(denied.reason, Reason::deny);
  EXPECT_EQ(image::list_name(image.view(), denied.list), "bad");
  EXPECT_EQ(denied.family, FamilySlot::ipv6);
  EXPECT_EQ(other.verdict, Verdict::pass);
  EXPECT_EQ(other.reason, Reason::fallthrough);
  EXPECT_EQ(other.list, no_list);
}

TEST_F(P4TargetTest, keeps_what_is_in_force_when_the_next_image_is_refused) {
  const TestImage image = image_of(100), wrong = image_of(100, HashFamily::xxh3);
  ASSERT_TRUE(target_->load(image.view()));
  target_->in_force();
  const Status refused = target_->load(wrong.view());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("hash family"));
  EXPECT_EQ(judge("2001:db8::1", image).reason, Reason::deny);
}

TEST_F(P4TargetTest, gets_larger_registers_for_a_larger_image_and_keeps_its_counters) {
  const TestImage small = image_of(100), large = image_of(50'000); // 24,000 fit at first
  ASSERT_TRUE(target_->load(small.view()));
  target_->in_force();
  EXPECT_EQ(judge("2001:db8::1", small).reason, Reason::deny);
  const Status loaded = target_->load(large.view());
  ASSERT_TRUE(loaded) << loaded.error().message;
  target_->in_force();
  EXPECT_EQ(judge("2001:db8::c34f", large).reason, Reason::deny); // the last
  EXPECT_EQ(judge("2001:db8::c350", large).reason, Reason::fallthrough);
  EXPECT_EQ(target_->packets(Reason::deny), 2u) << "one under either image";
  ASSERT_TRUE(target_->load(small.view())); // and back, in the large ones
  target_->in_force();
  EXPECT_EQ(judge("2001:db8::c34f", small).reason, Reason::fallthrough);
}

} // namespace
} // namespace weir::dataplane::p4_target_test
