// The control socket: what is accepted, and what is refused with a reason while the running
// generation stays.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/base/hash.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace weir::test::channel_test {
namespace {

RuleSet small_rules() {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, {parse_prefix("10.0.0.0/8").value()}}};
  return rules;
}

class ChannelTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    control_ = std::make_unique<DataplaneClient>(gate_->socket());
    ASSERT_TRUE(control_->connected());
    const TestImage image(small_rules(), {.generation = 7});
    ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
    ASSERT_TRUE(control_->commit(7, 0).is(wire::Type::committed));
  }

  Reason judge(const char *source) {
    return gate_->judge(0, FrameBuilder().ethernet().ipv4({.source = source}).udp(1, 2).frame().bytes).reason;
  }

  void expect_unchanged() {
    EXPECT_EQ(name_of(judge("10.1.2.3")), name_of(Reason::deny));
    EXPECT_EQ(name_of(judge("192.0.2.3")), name_of(Reason::fallthrough));
    const DataplaneClient other(gate_->socket());
    EXPECT_EQ(other.hello().live.generation, 7u);
  }

  // Stages an image that `spoil` changed; the answer must be a refusal that contains `reason`.
  void expect_refused(const char *reason, const std::function<void(std::vector<std::byte> &)> &spoil) {
    const TestImage image(small_rules(), {.generation = 8});
    std::vector<std::byte> bytes(image.bytes().begin(), image.bytes().end());
    spoil(bytes);
    const WireMessage answer = control_->stage(bytes);
    ASSERT_TRUE(answer.is(wire::Type::refused));
    EXPECT_NE(answer.refusal().find(reason), std::string::npos) << answer.refusal();
    EXPECT_TRUE(control_->commit(8, 0).is(wire::Type::refused));
    expect_unchanged();
  }

  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<DataplaneClient> control_;
};

TEST_F(ChannelTest, a_good_image_is_enforced_and_named_in_the_hello) { expect_unchanged(); }

TEST_F(ChannelTest, a_flipped_bit_anywhere_is_refused) {
  const TestImage probe(small_rules(), {.generation = 8});
  const std::size_t size = probe.bytes().size();
  for (const std::size_t at : {sizeof(image::ImageHeader) + 3, size / 3, size / 2, size - 64})
    expect_refused("", [at](auto &bytes) { bytes[at] ^= std::byte{0x10}; });
}

TEST_F(ChannelTest, a_wrong_version_is_refused) {
  expect_refused("version",
                 [](auto &bytes) { bytes[offsetof(image::ImageHeader, format_version)] = std::byte{1}; });
}

TEST_F(ChannelTest, a_truncated_image_is_refused) {
  expect_refused("", [](auto &bytes) { bytes.resize(bytes.size() / 2); });
  expect_refused("", [](auto &bytes) { bytes.resize(10); });
}

TEST_F(ChannelTest, late_guards_are_taken_for_the_live_generation_alone_and_only_whole) {
  const auto ask = [&](Generation generation, std::uint32_t count, std::size_t sent) {
    const wire::Learn head{.store_id = control_->store_id, .generation = generation, .count = count};
    std::vector<wire::HostAddress> addresses(sent);
    std::vector<std::byte> payload(sizeof head + addresses.size() * sizeof(wire::HostAddress));
    std::memcpy(payload.data(), &head, sizeof head);
    if (!addresses.empty())
      std::memcpy(payload.data() + sizeof head, addresses.data(), payload.size() - sizeof head);
    return control_->ask(wire::Type::learn, payload);
  };
  const WireMessage done = ask(7, 2, 2);
  ASSERT_TRUE(done.is(wire::Type::learned)) << done.refusal();
  EXPECT_EQ(done.as<wire::Learned>().generation, 7u);
  EXPECT_EQ(done.as<wire::Learned>().sealed, 0u) << "there is no filter";
  const WireMessage other = ask(8, 1, 1);
  ASSERT_TRUE(other.is(wire::Type::refused));
  EXPECT_NE(other.refusal().find("7 is live"), std::string::npos) << other.refusal();
  EXPECT_TRUE(ask(7, 2, 1).is(wire::Type::refused)) << "cut short";
  EXPECT_TRUE(ask(7, wire::learn_max + 1, wire::learn_max + 1).is(wire::Type::refused)) << "too many";
  expect_unchanged();
}

// Rewrites the first section entry and both checksums over it, so that only the entry is wrong.
void edit_section(std::vector<std::byte> &bytes, const std::function<void(image::SectionEntry &)> &edit) {
  auto header = load_unaligned<image::ImageHeader>(bytes.data());
  auto *entries = bytes.data() + sizeof header;
  auto entry = load_unaligned<image::SectionEntry>(entries);
  edit(entry);
  std::memcpy(entries, &entry, sizeof entry);
  header.section_checksum = checksum({entries, header.section_count * sizeof entry});
  std::memcpy(bytes.data(), &header, sizeof header);
  header.header_checksum = checksum({bytes.data(), offsetof(image::ImageHeader, header_checksum)});
  std::memcpy(bytes.data(), &header, sizeof header);
}

TEST_F(ChannelTest, a_foreign_section_is_refused) {
  expect_refused("section", [](auto &bytes) { edit_section(bytes, [](auto &entry) { entry.kind = 4711; }); });
}

TEST_F(ChannelTest, a_section_that_points_outside_is_refused) {
  expect_refused("", [](auto &bytes) {
    const std::size_t size = bytes.size();
    edit_section(bytes, [size](auto &entry) { entry.offset = round_up(size, 64); });
  });
}

TEST_F(ChannelTest, missing_seals_are_refused_by_name) {
  const TestImage image(small_rules(), {.generation = 8});
  const WireMessage none = control_->stage(image.bytes(), 0);
  ASSERT_TRUE(none.is(wire::Type::refused));
  EXPECT_NE(none.refusal().find("SHRINK"), std::string::npos) << none.refusal();
  const WireMessage one = control_->stage(image.bytes(), F_SEAL_SHRINK);
  ASSERT_TRUE(one.is(wire::Type::refused));
  EXPECT_NE(one.refusal().find("GROW"), std::string::npos) << one.refusal();
  expect_unchanged();
}

TEST_F(ChannelTest, an_image_that_is_not_what_was_announced_is_refused) {
  const TestImage image(small_rules(), {.generation = 8});
  const wire::Stage lie{{}, 9, 0, image.bytes().size()};
  const int fd = make_memfd(image.bytes(), usual_seals());
  const WireMessage answer = control_->ask(wire::Type::stage, std::as_bytes(std::span(&lie, 1)), fd);
  close(fd);
  ASSERT_TRUE(answer.is(wire::Type::refused));
  EXPECT_NE(answer.refusal().find("generation"), std::string::npos) << answer.refusal();
  EXPECT_TRUE(control_->ask(wire::Type::stage, std::as_bytes(std::span(&lie, 1))).is(wire::Type::refused))
      << "no file descriptor came along";
  expect_unchanged();
}

TEST_F(ChannelTest, a_staged_image_dies_with_its_connection) {
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  control_ = std::make_unique<DataplaneClient>(gate_->socket());
  EXPECT_TRUE(control_->commit(8, 0).is(wire::Type::refused));
  expect_unchanged();
}

TEST_F(ChannelTest, a_staged_image_is_its_senders_alone) {
  DataplaneClient other(gate_->socket());
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  const WireMessage delta =
      other.deltas(wire::Target::staged, 1, {make_delta(image::DeltaOp::set, "192.0.2.200", 0)});
  ASSERT_TRUE(delta.is(wire::Type::refused));
  EXPECT_NE(delta.refusal().find("this peer"), std::string::npos) << delta.refusal();
  EXPECT_TRUE(other.commit(8, 0).is(wire::Type::refused));
  EXPECT_TRUE(other.ask(wire::Type::discard, {}).is(wire::Type::staged)) << "it has nothing to discard";
  EXPECT_TRUE(control_->commit(8, 0).is(wire::Type::committed));
}

TEST_F(ChannelTest, what_is_said_of_another_rule_store_is_refused) {
  using enum image::DeltaOp;
  control_->store_id.fill(9);
  const WireMessage delta = control_->deltas(wire::Target::live, 1, {make_delta(set, "192.0.2.3", 0)});
  ASSERT_TRUE(delta.is(wire::Type::refused));
  EXPECT_NE(delta.refusal().find("another rule store"), std::string::npos) << delta.refusal();
  const wire::Learn guard{.store_id = control_->store_id, .generation = 7};
  EXPECT_TRUE(control_->ask(wire::Type::learn, std::as_bytes(std::span(&guard, 1))).is(wire::Type::refused));
  expect_unchanged();
}

TEST_F(ChannelTest, every_other_peer_hears_of_a_commit) {
  DataplaneClient other(gate_->socket());
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  ASSERT_TRUE(control_->commit(8, 0).is(wire::Type::committed));
  const WireMessage heard = other.receive();
  ASSERT_TRUE(heard.is(wire::Type::hello));
  EXPECT_EQ(heard.as<wire::Hello>().live.generation, 8u);
}

TEST_F(ChannelTest, what_a_peer_has_not_taken_yet_is_sent_before_the_end) {
  DataplaneClient slow(gate_->socket());
  const std::string stats = R"({"what":"stats"})";
  wire::Header header;
  header.type = wire::Type::query;
  header.payload_bytes = static_cast<std::uint32_t>(stats.size());
  std::vector<std::byte> question(sizeof header + stats.size());
  std::memcpy(question.data(), &header, sizeof header);
  std::memcpy(question.data() + sizeof header, stats.data(), stats.size());
  // Until the dataplane cannot send it more, and so reads no more from it.
  using Clock = std::chrono::steady_clock;
  for (auto taken = Clock::now(); Clock::now() - taken < std::chrono::milliseconds(100);)
    if (slow.try_send_raw(question)) taken = Clock::now();
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  ASSERT_TRUE(control_->commit(8, 0).is(wire::Type::committed)); // of which `slow` is told
  std::thread ending([this] { gate_.reset(); });
  bool told = false;
  for (;;) {
    const WireMessage message = slow.receive();
    if (message.header.type == wire::Type{}) break;
    told |= message.is(wire::Type::hello) && message.as<wire::Hello>().live.generation == 8;
  }
  ending.join();
  EXPECT_TRUE(told);
}

TEST_F(ChannelTest, a_message_without_a_byte_keeps_no_descriptor) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  control_->send_empty(ends[1]);
  close(ends[1]);
  pollfd closed{ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&closed, 1, 20'000), 1) << "the dataplane still holds the other end";
  EXPECT_NE(closed.revents & POLLHUP, 0);
  close(ends[0]);
  control_ = std::make_unique<DataplaneClient>(gate_->socket());
  expect_unchanged();
}

TEST_F(ChannelTest, a_discarded_image_cannot_be_committed) {
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  const WireMessage discarded = control_->ask(wire::Type::discard, {});
  ASSERT_TRUE(discarded.is(wire::Type::staged));
  EXPECT_EQ(discarded.as<wire::Staged>().generation, 0u);
  EXPECT_TRUE(control_->commit(8, 0).is(wire::Type::refused));
  expect_unchanged();
}

TEST_F(ChannelTest, deltas_are_in_force_when_they_are_acknowledged) {
  using enum image::DeltaOp;
  ASSERT_TRUE(
      control_->deltas(wire::Target::live, 1, {make_delta(set, "192.0.2.3", 0)}).is(wire::Type::applied));
  EXPECT_EQ(name_of(judge("192.0.2.3")), name_of(Reason::deny));
  const WireMessage removed = control_->deltas(wire::Target::live, 2, {make_delta(unset, "192.0.2.3", 0)});
  ASSERT_TRUE(removed.is(wire::Type::applied)) << removed.refusal();
  EXPECT_EQ(removed.as<wire::Applied>().sequence, 2u);
  expect_unchanged();
}

TEST_F(ChannelTest, deltas_with_a_gap_are_refused_and_repeated_ones_are_skipped) {
  const auto delta = make_delta(image::DeltaOp::set, "192.0.2.200", 0);
  const WireMessage gap = control_->deltas(wire::Target::live, 2, {delta});
  ASSERT_TRUE(gap.is(wire::Type::refused));
  EXPECT_EQ(gap.as<wire::Refused>().code, static_cast<std::uint32_t>(Errc::bad_sequence));
  ASSERT_TRUE(control_->deltas(wire::Target::live, 1, {delta}).is(wire::Type::applied));
  const WireMessage again = control_->deltas(wire::Target::live, 1, {delta});
  ASSERT_TRUE(again.is(wire::Type::applied));
  EXPECT_EQ(again.as<wire::Applied>().sequence, 1u);
}

TEST_F(ChannelTest, deltas_that_make_no_sense_are_refused) {
  auto beyond = make_delta(image::DeltaOp::set, "192.0.2.3", 0);
  beyond.length = 24;
  EXPECT_TRUE(control_->deltas(wire::Target::live, 1, {beyond}).is(wire::Type::refused));
  auto long_one = make_delta(image::DeltaOp::set, "192.0.2.3", 0);
  long_one.length = 33;
  EXPECT_TRUE(control_->deltas(wire::Target::live, 1, {long_one}).is(wire::Type::refused));
  const WireMessage unknown_list =
      control_->deltas(wire::Target::live, 1, {make_delta(image::DeltaOp::set, "192.0.2.3", 99)});
  ASSERT_TRUE(unknown_list.is(wire::Type::refused));
  EXPECT_EQ(unknown_list.as<wire::Refused>().code, static_cast<std::uint32_t>(Errc::needs_rebuild));
  EXPECT_TRUE(control_->deltas(wire::Target::staged, 1, {make_delta(image::DeltaOp::set, "192.0.2.3", 0)})
                  .is(wire::Type::refused))
      << "nothing is staged";
  expect_unchanged();
}

TEST_F(ChannelTest, a_commit_before_the_staged_image_caught_up_is_refused) {
  const auto delta = make_delta(image::DeltaOp::set, "192.0.2.200", 0);
  const TestImage image(small_rules(), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  ASSERT_TRUE(control_->deltas(wire::Target::live, 1, {delta}).is(wire::Type::applied));
  EXPECT_TRUE(control_->commit(8, 0).is(wire::Type::refused)) << "an acknowledged entry would be lost";
  EXPECT_TRUE(control_->commit(8, 1).is(wire::Type::refused));
  ASSERT_TRUE(control_->deltas(wire::Target::staged, 1, {delta}).is(wire::Type::applied));
  EXPECT_TRUE(control_->commit(8, 1).is(wire::Type::committed));
  EXPECT_EQ(name_of(judge("192.0.2.200")), name_of(Reason::deny));
}

TEST_F(ChannelTest, garbage_and_foreign_versions_end_the_connection_and_nothing_else) {
  control_->send_raw(std::as_bytes(std::span("garbage", 7)));
  EXPECT_TRUE(control_->receive().is(wire::Type::refused));
  EXPECT_TRUE(control_->receive().is(wire::Type{})) << "the connection is closed";
  control_ = std::make_unique<DataplaneClient>(gate_->socket());
  wire::Header newer;
  newer.version = wire::version + 1;
  newer.type = wire::Type::query;
  control_->send_raw(std::as_bytes(std::span(&newer, 1)));
  const WireMessage answer = control_->receive();
  ASSERT_TRUE(answer.is(wire::Type::refused));
  EXPECT_NE(answer.refusal().find("version"), std::string::npos) << answer.refusal();
  control_ = std::make_unique<DataplaneClient>(gate_->socket());
  expect_unchanged();
}

TEST_F(ChannelTest, messages_of_a_wrong_size_are_refused) {
  const std::vector<std::byte> few(3);
  for (const auto type : {wire::Type::stage, wire::Type::deltas, wire::Type::commit, wire::Type::hello})
    EXPECT_TRUE(control_->ask(type, few).is(wire::Type::refused)) << static_cast<int>(type);
  wire::Deltas many;
  many.first_sequence = 1;
  many.count = 0xFFFFFFFF;
  EXPECT_TRUE(control_->ask(wire::Type::deltas, std::as_bytes(std::span(&many, 1))).is(wire::Type::refused));
  expect_unchanged();
}

TEST_F(ChannelTest, the_last_accepted_image_is_enforced_by_the_next_process_at_once) {
  const TestImage refused_later(small_rules(), {.generation = 9});
  ASSERT_TRUE(control_->stage(refused_later.bytes()).is(wire::Type::staged)) << "staged, never committed";
  gate_->dataplane().generations.kept().settle();
  dataplane::ListSlots lists;
  dataplane::ImageSlot slot(1);
  dataplane::Background background;
  dataplane::Generations next(slot, lists, background, 1, gate_->state_dir());
  const Status attached = next.attach_last();
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_EQ(slot.live_generation(), 7u);
}

} // namespace
} // namespace weir::test::channel_test
