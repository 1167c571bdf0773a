// weirctl's end of the socket: no wait without an end, and a sentence at each end.
#include "control/cli/client.hpp"
#include "control/cli/options.hpp"
#include "control/cli/program.hpp"
#include "tests/support/process.hpp"
#include "weir/base/owned_fd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace weir::cli::client_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr ClientWaits soon{
    .connect_max = 50ms, .send_max = 50ms, .answer_max = 10min, .look_every = 20ms, .look_max = 50ms};

class ClientTest : public testing::Test {
protected:
  ClientTest() : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 2), 0);
  }
  [[nodiscard]] std::string path() const { return (folder_ / "control.sock").string(); }

  test::TempDir folder_;
  OwnedFd listener_;
};

TEST_F(ClientTest, gives_up_when_nobody_takes_its_connection) {
  std::vector<Client> waiting; // in the queue, until it is full
  for (;;) {
    auto client = Client::connect(path(), soon);
    if (client) {
      ASSERT_LT(waiting.size(), 100u);
      waiting.push_back(std::move(*client));
      continue;
    }
    EXPECT_EQ(client.error().code, Errc::unreachable);
    EXPECT_THAT(client.error().message, HasSubstr(path()));
    EXPECT_THAT(client.error().message, HasSubstr("takes no connection"));
    return;
  }
}

// Who moves traffic elsewhere by it asks every few seconds.
TEST_F(ClientTest, health_knows_after_three_seconds_that_nobody_answers) {
  const auto ask = [this] {
    std::istringstream in;
    std::ostringstream out, err;
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(run({"health", "-s", path()}, {in, out, err}), exit_unreachable);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 4s) << err.str();
    return err.str();
  };
  EXPECT_THAT(ask(), HasSubstr("did not answer within 2 s"));
  std::vector<Client> waiting;
  for (auto client = Client::connect(path(), soon); client; client = Client::connect(path(), soon)) {
    ASSERT_LT(waiting.size(), 100u);
    waiting.push_back(std::move(*client));
  }
  EXPECT_THAT(ask(), HasSubstr("takes no connection"));
}

TEST_F(ClientTest, gives_up_when_nobody_takes_its_request_or_answers) {
  auto client = Client::connect(path(), {.send_max = 50ms});
  ASSERT_TRUE(client);
  const auto answer = client->ask("a question", 30ms);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer within 30"));
  EXPECT_THAT(answer.error().message, HasSubstr(path()));
  const auto long_one = client->ask(std::string(8 << 20, 'x'));
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().message, HasSubstr("took nothing of the request"));
}

TEST_F(ClientTest, a_long_wait_ends_when_others_are_not_answered_either) {
  auto client = Client::connect(path(), soon);
  ASSERT_TRUE(client);
  const auto answer = client->ask("a long command");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("has stopped answering"));
}

TEST_F(ClientTest, a_long_wait_goes_on_while_others_are_answered) {
  auto client = Client::connect(path(), {.look_every = 5ms, .look_max = 10min});
  ASSERT_TRUE(client);
  std::thread control([&] {
    const OwnedFd first(accept(listener_.get(), nullptr, nullptr));
    for (int i = 0; i < 3; ++i) {
      const OwnedFd look(accept(listener_.get(), nullptr, nullptr));
      (void)!send(look.get(), "{}\n", 3, MSG_NOSIGNAL);
    }
    (void)!send(first.get(), "done\n", 5, MSG_NOSIGNAL);
    char rest[64];
    while (recv(first.get(), rest, sizeof rest, 0) > 0) {
    }
  });
  const auto answer = client->ask("a long command");
  *client = Client::connect(path()).value(); // closes the first one
  control.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "done");
}

TEST_F(ClientTest, what_was_said_before_the_connection_was_closed_is_the_answer) {
  auto client = Client::connect(path(), soon);
  ASSERT_TRUE(client);
  {
    const OwnedFd taken(accept(listener_.get(), nullptr, nullptr));
    ASSERT_EQ(send(taken.get(), "too many\n", 9, MSG_NOSIGNAL), 9);
  }
  const auto answer = client->ask("a question");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "too many");
}

} // namespace
} // namespace weir::cli::client_test
