// Two that push to one dataplane: each knows when its rules are not the ones in force.
#include "control/push/pusher.hpp"
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weir::test::pusher_test {
namespace {

using namespace std::chrono_literals;
using push::Pusher;

RuleSet some_rules() {
  RuleSet rules;
  rules.lists = {{"bad", Side::deny, {parse_prefix("10.0.0.0/8").value()}}};
  return rules;
}

class PusherTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    pusher_ = std::make_unique<Pusher>(loop_, gate_->socket(), log(), events());
    pusher_->start();
    ASSERT_TRUE(run_until([&] { return pusher_->channel().connected(); }));
    ASSERT_TRUE(swap(7));
  }

  push::LogSource log() {
    return {
        .first_sequence = [] { return std::uint64_t{1}; },
        .last_sequence = [this] { return last_; },
        .delta = [](std::uint64_t, wire::Target) { return make_delta(image::DeltaOp::set, "192.0.2.3", 0); }};
  }
  Pusher::Events events() {
    Pusher::Events events;
    events.needs_image = [this](const std::string &) { ++images_wanted_; };
    events.displaced = [this](const std::string &why) { displaced_ = why; };
    return events;
  }
  [[nodiscard]] bool run_until(const std::function<bool()> &done) {
    const auto end = push::Clock::now() + 30s;
    while (!done() && push::Clock::now() < end) loop_.turn(2ms);
    return done();
  }
  [[nodiscard]] bool swap(std::uint64_t generation) {
    const TestImage image(some_rules(), {.generation = generation});
    std::optional<Result<push::Swapped>> done;
    pusher_->swap({.fd = make_memfd(image.bytes(), usual_seals()),
                   .identity = {.generation = Generation(generation), .bytes = image.bytes().size()}},
                  [&](const Result<push::Swapped> &swapped) { done = swapped; });
    return run_until([&] { return done.has_value(); }) && done->has_value();
  }

  push::EventLoop loop_;
  std::uint64_t last_ = 0;
  unsigned images_wanted_ = 0;
  std::string displaced_;
  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<Pusher> pusher_;
};

TEST_F(PusherTest, hears_at_once_that_another_has_put_its_image_in_force) {
  ASSERT_EQ(pusher_->state(), Pusher::State::live);
  DataplaneClient other(gate_->socket());
  const TestImage image(some_rules(), {.generation = 8});
  ASSERT_TRUE(other.stage(image.bytes()).is(wire::Type::staged));
  ASSERT_TRUE(other.commit(8, 0).is(wire::Type::committed));
  const unsigned wanted = images_wanted_;
  ASSERT_TRUE(run_until([&] { return !pusher_->displaced().empty(); }));
  EXPECT_EQ(pusher_->state(), Pusher::State::stale);
  EXPECT_EQ(pusher_->dataplane_generation(), 8u);
  EXPECT_EQ(displaced_, pusher_->displaced());
  EXPECT_EQ(images_wanted_, wanted) << "two that answer each other's images would never end";

  last_ = 1;
  pusher_->pump();
  Status answer;
  pusher_->when_applied(1, [&](const Status &status) { answer = status; });
  ASSERT_FALSE(answer) << "an entry that is not in force was acknowledged";
  EXPECT_NE(answer.error().message.find("another weir-control"), std::string::npos);

  last_ = 0;
  ASSERT_TRUE(swap(9)) << "whoever asks for it takes the dataplane back";
  EXPECT_EQ(pusher_->state(), Pusher::State::live);
  EXPECT_EQ(pusher_->displaced(), "");
}

// The dataplane's end, by hand.
TEST(ControlChannel, survives_samples_without_samples_and_messages_without_bytes) {
  std::string folder = (std::filesystem::temp_directory_path() / "weir-peer-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path path = std::filesystem::path(folder) / "s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  push::EventLoop loop;
  unsigned hellos = 0, lost = 0, samples = 0;
  push::Channel channel(loop, path,
                        {.hello = [&](const wire::Hello &) { ++hellos; },
                         .lost = [&](const std::string &) { ++lost; },
                         .samples = [&](std::span<const wire::Sample>) { ++samples; }});
  channel.start();
  const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ASSERT_GE(peer, 0);
  wire::Header header;
  header.type = wire::Type::hello;
  header.payload_bytes = sizeof(wire::Hello);
  const auto hello = push::pack(header, wire::Hello{});
  send(peer, hello.data(), hello.size(), MSG_NOSIGNAL);
  header.type = wire::Type::samples;
  header.payload_bytes = 0;
  const auto none = push::pack(header);
  send(peer, none.data(), none.size(), MSG_NOSIGNAL);
  const auto turn_until = [&](const std::function<bool()> &done) {
    for (const auto end = push::Clock::now() + 30s; !done() && push::Clock::now() < end;) loop.turn(2ms);
    return done();
  };
  ASSERT_TRUE(turn_until([&] { return hellos == 1; }));
  EXPECT_EQ(lost, 0u);

  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr *rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &ends[1], sizeof(int));
  ASSERT_EQ(sendmsg(peer, &message, MSG_NOSIGNAL), 0);
  close(ends[1]);
  ASSERT_TRUE(turn_until([&] { return lost == 1; }));
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "control still holds the other end";
  close(ends[0]);
  close(peer);
  close(listener);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(samples, 0u);
}

} // namespace
} // namespace weir::test::pusher_test
