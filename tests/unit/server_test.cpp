// control.sock without verbs: what comes in with a line, and what becomes of it.
#include "control/daemon/server.hpp"
#include "tests/support/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace weir::control {
namespace {

int connect_to(const std::filesystem::path &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  return fd;
}

// One sendmsg() with `count` descriptors of the same empty pipe.
void send_with_fds(int to, const std::string &text, std::size_t count) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<int> fds(count, ends[0]);
  iovec part{const_cast<char *>(text.data()), text.size()};
  std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  cmsghdr *rights = CMSG_FIRSTHDR(&head);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(rights), fds.data(), count * sizeof(int));
  EXPECT_EQ(sendmsg(to, &head, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  close(ends[0]);
  close(ends[1]);
}

void send_text(int to, const std::string &text) {
  EXPECT_EQ(send(to, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::size_t descriptors_open() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class ServerTest : public testing::Test {
protected:
  void serve(Server::Handler handler) {
    server_ = std::make_unique<Server>(loop_, std::move(handler));
    ASSERT_TRUE(server_->listen(socket_path()));
  }
  [[nodiscard]] std::filesystem::path socket_path() const { return folder_ / "control.sock"; }
  [[nodiscard]] bool run_until(const std::function<bool()> &done) {
    const auto end = push::Clock::now() + std::chrono::seconds(60);
    while (!done() && push::Clock::now() < end) loop_.turn(std::chrono::milliseconds(2));
    return done();
  }
  // The next `lines` lines that come to `fd`, with their newlines.
  std::string answers(int fd, std::ptrdiff_t lines) {
    std::string received;
    EXPECT_TRUE(run_until([&] {
      char buffer[65536];
      const ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) received.append(buffer, static_cast<std::size_t>(got));
      return std::ranges::count(received, '\n') >= lines;
    }));
    return received;
  }

  test::TempDir folder_;
  push::EventLoop loop_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, a_request_tells_who_sent_it) {
  Peer seen;
  serve([&](const Request &request, const Server::Reply &reply) {
    seen = request.peer;
    reply("done");
  });
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "who am I\n");
  EXPECT_EQ(answers(client.get(), 1), "done\n");
  EXPECT_EQ(seen.pid, getpid());
  EXPECT_EQ(seen.uid, geteuid());
  EXPECT_EQ(seen.gid, getegid());
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  ASSERT_GE(getgroups(static_cast<int>(groups.size()), groups.data()), 0);
  std::ranges::sort(groups);
  std::ranges::sort(seen.groups);
  EXPECT_TRUE(std::ranges::equal(seen.groups, groups));
}

TEST_F(ServerTest, descriptors_come_with_the_line_that_they_were_sent_with) {
  std::vector<std::pair<std::string, std::size_t>> seen;
  serve([&](const Request &request, const Server::Reply &reply) {
    for (const OwnedFd &fd : request.fds) EXPECT_NE(fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
    seen.emplace_back(request.line, request.fds.size());
    reply("done");
  });
  const OwnedFd client(connect_to(socket_path()));
  const std::size_t open_before = descriptors_open();
  send_text(client.get(), "first\n");
  send_with_fds(client.get(), "second\n", 2);
  send_text(client.get(), "third\n");
  send_with_fds(client.get(), "fourth, ", 1);
  send_text(client.get(), "its end\n");
  send_with_fds(client.get(), std::string(300'000, 'x') + "\n", Server::fds_max);
  answers(client.get(), 5);
  const std::vector<std::pair<std::string, std::size_t>> wanted{{"first", 0},
                                                                {"second", 2},
                                                                {"third", 0},
                                                                {"fourth, its end", 1},
                                                                {std::string(300'000, 'x'), Server::fds_max}};
  EXPECT_EQ(seen, wanted);
  EXPECT_LE(descriptors_open(), open_before + 1) << "what the handler does not take is closed";
}

TEST_F(ServerTest, a_request_with_too_many_descriptors_is_refused_and_they_are_closed) {
  serve([&](const Request &, const Server::Reply &reply) { reply("done"); });
  const OwnedFd client(connect_to(socket_path()));
  const std::size_t open_before = descriptors_open();
  send_with_fds(client.get(), "far too many\n", 253);
  EXPECT_NE(answers(client.get(), 1).find("at most 16 descriptors"), std::string::npos);
  EXPECT_LE(descriptors_open(), open_before + 1);
  send_text(client.get(), "goes on\n");
  EXPECT_EQ(answers(client.get(), 1), "done\n");
}

TEST_F(ServerTest, descriptors_without_a_line_do_not_pile_up) {
  serve([&](const Request &, const Server::Reply &reply) { reply("done"); });
  const OwnedFd client(connect_to(socket_path()));
  const std::size_t open_before = descriptors_open();
  for (int i = 0; i < 100; ++i) {
    send_with_fds(client.get(), "x", 10);
    loop_.turn(std::chrono::milliseconds(0));
  }
  EXPECT_LE(descriptors_open(), open_before + 1 + Server::fds_max);
  send_text(client.get(), "\n");
  EXPECT_NE(answers(client.get(), 1).find("at most 16 descriptors"), std::string::npos);
  EXPECT_LE(descriptors_open(), open_before + 1);
}

TEST_F(ServerTest, descriptors_that_the_process_has_no_room_for_are_refused_with_their_line) {
  serve([&](const Request &, const Server::Reply &reply) { reply("done"); });
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "accepted\n");
  answers(client.get(), 1);
  send_with_fds(client.get(), "no room\n", 8);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = descriptors_open() + 16, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<OwnedFd> all;
  for (int fd = 0; (fd = dup(client.get())) >= 0;) all.emplace_back(fd);
  const std::string answer = answers(client.get(), 1);
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NE(answer.find("LimitNOFILE"), std::string::npos) << answer;
  send_text(client.get(), "goes on\n");
  EXPECT_EQ(answers(client.get(), 1), "done\n");
}

} // namespace
} // namespace weir::control
