// The connection to a dataplane, from control's side, against a plain socket.
#include "control/push/channel.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

namespace weir::push::channel_test {
namespace {

using namespace std::chrono_literals;

// A dataplane that does as it is told.
class Peer {
public:
  explicit Peer(const std::filesystem::path &path)
      : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
  }
  ~Peer() {
    hang_up();
    close(listener_);
  }
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;

  void greet() {
    peer_ = accept(listener_, nullptr, nullptr);
    send(wire::Type::hello, 0, wire::Hello{});
  }
  // The number of the next request.
  std::uint32_t take() {
    std::vector<std::byte> message(wire::message_bytes_max);
    EXPECT_GE(recv(peer_, message.data(), message.size(), 0), static_cast<ssize_t>(sizeof(wire::Header)));
    return load_unaligned<wire::Header>(message.data()).request;
  }
  template <class Payload> void send(wire::Type type, std::uint32_t request, const Payload &payload) {
    wire::Header header;
    header.type = type;
    header.request = request;
    header.payload_bytes = sizeof payload;
    std::vector<std::byte> message(sizeof header + sizeof payload);
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &payload, sizeof payload);
    EXPECT_EQ(::send(peer_, message.data(), message.size(), 0), static_cast<ssize_t>(message.size()));
  }
  void hang_up() {
    if (peer_ >= 0) close(peer_);
    peer_ = -1;
  }

private:
  int listener_, peer_ = -1;
};

TEST(PushChannel, reads_the_last_answers_of_a_dataplane_that_left_with_questions_unread) {
  const test::TempDir folder;
  Peer peer(folder / "dataplane.sock");
  EventLoop loop;
  bool greeted = false, lost = false;
  Channel channel(loop, folder / "dataplane.sock",
                  {.hello = [&](const wire::Hello &) { greeted = true; },
                   .lost = [&](const std::string &) { lost = true; },
                   .samples = {}});
  channel.start();
  peer.greet();
  while (!greeted) loop.turn(10ms);
  std::optional<bool> committed, asked;
  channel.request(wire::Type::commit, pack(wire::Commit{1, 0}),
                  [&](const Result<Message> &answer) { committed = answer.has_value(); });
  channel.query("{}", [&](const Result<std::string> &answer) { asked = answer.has_value(); });
  const std::uint32_t commit = peer.take();
  peer.send(wire::Type::committed, commit, wire::Committed{1, 0});
  peer.hang_up(); // the query is never read
  while (!lost) loop.turn(10ms);
  EXPECT_EQ(committed, true);
  EXPECT_EQ(asked, false);
}

} // namespace
} // namespace weir::push::channel_test
