// control.sock without verbs: what comes in with a line, and what becomes of it.
#include "control/api/server.hpp"
#include "control/engine/give_back.hpp"
#include "tests/support/process.hpp"
#include "tests/support/unix_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace weir::control::server_test {
namespace {

using test::connect_to;
using test::send_with_fds;

// One sendmsg() with `count` descriptors of the same empty pipe.
void send_with_pipes(int to, const std::string &text, std::size_t count) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  send_with_fds(to, text, std::vector<int>(count, ends[0]));
  close(ends[0]);
  close(ends[1]);
}

void send_text(int to, const std::string &text) {
  EXPECT_EQ(send(to, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "VmHWM:") break;
  std::size_t kib = 0;
  status >> kib;
  return kib * 1024;
}

std::size_t descriptors_open() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class ServerTest : public testing::Test {
protected:
  void serve(Server::Handler handler, ServerLimits limits = {}) {
    server_ = std::make_unique<Server>(loop_, std::move(handler), limits);
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

  // True once the other end has closed; what was sent before is dropped.
  [[nodiscard]] bool is_closed(int fd) {
    return run_until([&] {
      char buffer[65536];
      ssize_t got = 0;
      while ((got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
      }
      return got == 0 || errno == ECONNRESET;
    });
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
  send_with_pipes(client.get(), "second\n", 2);
  send_text(client.get(), "third\n");
  send_with_pipes(client.get(), "fourth, ", 1);
  send_text(client.get(), "its end\n");
  send_with_pipes(client.get(), std::string(100'000, 'x') + "\n", Server::fds_max);
  answers(client.get(), 5);
  const std::vector<std::pair<std::string, std::size_t>> wanted{{"first", 0},
                                                                {"second", 2},
                                                                {"third", 0},
                                                                {"fourth, its end", 1},
                                                                {std::string(100'000, 'x'), Server::fds_max}};
  EXPECT_EQ(seen, wanted);
  EXPECT_LE(descriptors_open(), open_before + 1) << "what the handler does not take is closed";
}

TEST_F(ServerTest, a_request_with_too_many_descriptors_is_refused_and_they_are_closed) {
  serve([&](const Request &, const Server::Reply &reply) { reply("done"); });
  const OwnedFd client(connect_to(socket_path()));
  const std::size_t open_before = descriptors_open();
  send_with_pipes(client.get(), "far too many\n", 253);
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
    send_with_pipes(client.get(), "x", 10);
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
  send_with_pipes(client.get(), "no room\n", 8);
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

TEST_F(ServerTest, a_request_whose_handler_throws_or_forgets_it_is_answered_all_the_same) {
  std::vector<std::string> faults;
  loop_.on_fault = [&](const std::string &what) { faults.push_back(what); };
  serve([&](const Request &request, const Server::Reply &reply) {
    if (request.line == "throws") throw std::runtime_error("no such key");
    if (request.line == "throws later")
      return loop_.post([reply] { throw std::runtime_error("no such field"); });
    if (request.line == "forgets") return;
    reply("done");
    reply("done twice");
  });
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "throws\nthrows later\nforgets\nanswers\nanswers\n");
  const std::string all = answers(client.get(), 5);
  EXPECT_EQ(std::ranges::count(all, '\n'), 5);
  std::size_t given_up = 0;
  for (std::size_t at = 0; (at = all.find("was given up", at)) != std::string::npos; ++at) ++given_up;
  EXPECT_EQ(given_up, 3u) << all;
  EXPECT_TRUE(all.ends_with("done\ndone\n")) << all;
  EXPECT_EQ(faults, (std::vector<std::string>{"no such key", "no such field"}));
}

TEST_F(ServerTest, a_reply_that_outlives_the_server_does_nothing) {
  Server::Reply kept;
  serve([&](const Request &, Server::Reply reply) { kept = std::move(reply); });
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "kept\n");
  ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept); }));
  server_.reset();
  kept("too late");
  kept = {};
  loop_.turn(std::chrono::milliseconds(0));
}

// ---- limits ------------------------------------------------------------------------------------

TEST_F(ServerTest, a_client_that_does_not_take_its_answers_is_not_read_from) {
  std::size_t handled = 0;
  serve([&](const Request &request, const Server::Reply &reply) {
    if (request.line == "me too") return reply("of course");
    ++handled;
    reply(std::string(100'000, 'x'));
  });
  const OwnedFd rude(connect_to(socket_path())), other(connect_to(socket_path()));
  std::string burst;
  for (int i = 0; i < 100'000; ++i) burst += "again\n";
  std::size_t sent = 0, idle_turns = 0;
  while (sent < burst.size() && idle_turns < 50) {
    const ssize_t some =
        send(rude.get(), burst.data() + sent, burst.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (some > 0) sent += static_cast<std::size_t>(some);
    idle_turns = some > 0 ? 0 : idle_turns + 1;
    loop_.turn(std::chrono::milliseconds(0));
  }
  EXPECT_LT(handled, 20u) << "answers stay in the socket, not in memory";
  send_text(other.get(), "me too\n");
  EXPECT_EQ(answers(other.get(), 1), "of course\n");
  const std::size_t before = handled;
  answers(rude.get(), 40); // and goes on when they are taken
  EXPECT_GT(handled, before);
}

TEST_F(ServerTest, others_have_their_turn_between_the_lines_of_a_burst) {
  std::size_t handled = 0, handled_before = 0, handled_between = 0;
  serve([&](const Request &request, const Server::Reply &reply) {
    if (request.line == "me too") handled_between = handled - handled_before;
    ++handled;
    reply("done");
  });
  const OwnedFd burst(connect_to(socket_path())), other(connect_to(socket_path()));
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "again\n";
  send_text(burst.get(), text);
  ASSERT_TRUE(run_until([&] { return handled > 10; }));
  handled_before = handled;
  send_text(other.get(), "me too\n");
  EXPECT_EQ(answers(other.get(), 1), "done\n");
  EXPECT_LT(handled_between, 10u);
}

TEST_F(ServerTest, others_are_answered_while_a_long_line_comes_in) {
  std::vector<std::size_t> lengths;
  serve([&](const Request &request, const Server::Reply &reply) {
    lengths.push_back(request.line.size());
    reply("done");
  });
  const OwnedFd large(connect_to(socket_path())), other(connect_to(socket_path()));
  const std::string line = std::string(20 << 20, 'x') + "\nshort\n";
  std::size_t sent = 0;
  bool asked = false;
  ASSERT_TRUE(run_until([&] {
    const ssize_t some =
        send(large.get(), line.data() + sent, line.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (some > 0) sent += static_cast<std::size_t>(some);
    if (!asked && sent > line.size() / 2) {
      send_text(other.get(), "me too\n");
      asked = true;
    }
    return lengths.size() == 3;
  }));
  EXPECT_EQ(lengths, (std::vector<std::size_t>{6, 20 << 20, 5}));
}

TEST_F(ServerTest, a_request_beyond_the_limit_is_told_so_and_then_the_connection_is_closed) {
  Server::Reply first;
  serve([&](const Request &, Server::Reply reply) { first = std::move(reply); }, {.line_bytes_max = 100'000});
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "first\n");
  ASSERT_TRUE(run_until([&] { return static_cast<bool>(first); }));
  std::string line(150'000, 'x');
  (void)!send(client.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  for (int i = 0; i < 20; ++i) loop_.turn(std::chrono::milliseconds(1));
  first("answered in its turn");
  const std::string both = answers(client.get(), 2);
  EXPECT_TRUE(both.starts_with("answered in its turn\n")) << both;
  EXPECT_NE(both.find("at most 100000 bytes"), std::string::npos) << both;
  EXPECT_TRUE(is_closed(client.get()));
}

TEST_F(ServerTest, requests_without_an_end_do_not_take_more_memory_together_than_they_may) {
  serve([](const Request &, const Server::Reply &reply) { reply("done"); }, {.unread_bytes_max = 5 << 20});
  std::vector<OwnedFd> clients;
  const std::string part(3 << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(connect_to(socket_path()));
    std::size_t sent = 0;
    ASSERT_TRUE(run_until([&] {
      const ssize_t some =
          send(clients.back().get(), part.data() + sent, part.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (some > 0) sent += static_cast<std::size_t>(some);
      return sent == part.size() || (some < 0 && errno != EAGAIN);
    }));
  }
  EXPECT_NE(answers(clients[1].get(), 1).find("try again later"), std::string::npos);
  EXPECT_TRUE(is_closed(clients[1].get()));
  send_text(clients[0].get(), "\n");
  EXPECT_EQ(answers(clients[0].get(), 1), "done\n");
}

TEST_F(ServerTest, a_line_that_grows_is_never_copied_to_a_larger_place) {
  keep_few_arenas(); // as weir-control does: else what is mapped hangs on what earlier tests freed
  serve([](const Request &, const Server::Reply &reply) { reply("done"); });
  const OwnedFd client(connect_to(socket_path()));
  const std::string part(1 << 20, 'x');
  constexpr std::size_t line_bytes = 70u << 20;   // a place that doubles would hold 64 and 128 MiB at once
  test::write_text("/proc/self/clear_refs", "5"); // the peak begins here
  const std::size_t before = peak_bytes();
  for (std::size_t sent = 0; sent < line_bytes;) {
    const ssize_t some = send(client.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (some > 0) sent += static_cast<std::size_t>(some);
    loop_.turn(std::chrono::milliseconds(0));
  }
  // A sanitizer keeps what was freed for a while: the copies of a line up to 16 MiB, and its own notes.
  const bool sanitized = mallinfo2().uordblks == 0; // its allocator is another
  const std::size_t beside = sanitized ? 80u << 20 : 16u << 20;
  EXPECT_LT(peak_bytes() - before, line_bytes + beside);
  send_text(client.get(), "\n");
  EXPECT_EQ(answers(client.get(), 1), "done\n");
}

TEST_F(ServerTest, one_client_too_many_gets_a_sentence_until_another_leaves) {
  serve([](const Request &, const Server::Reply &reply) { reply("done"); }, {.connections_max = 2});
  const OwnedFd first(connect_to(socket_path()));
  OwnedFd second(connect_to(socket_path()));
  const OwnedFd third(connect_to(socket_path()));
  EXPECT_NE(answers(third.get(), 1).find("serves 2 connections already"), std::string::npos);
  EXPECT_TRUE(is_closed(third.get()));
  second = OwnedFd();
  for (int i = 0; i < 5; ++i) loop_.turn(std::chrono::milliseconds(1));
  const OwnedFd fourth(connect_to(socket_path()));
  send_text(fourth.get(), "x\n");
  EXPECT_EQ(answers(fourth.get(), 1), "done\n");
}

TEST_F(ServerTest, without_a_free_descriptor_a_client_gets_a_sentence_and_the_loop_rests) {
  serve([](const Request &, const Server::Reply &reply) { reply("done"); });
  std::vector<OwnedFd> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = descriptors_open() + 16, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<OwnedFd> all;
  for (int fd = 0; (fd = dup(clients[0].get())) >= 0;) all.emplace_back(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path().c_str(), sizeof address.sun_path - 1);
  for (const OwnedFd &client : clients) {
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    EXPECT_NE(answers(client.get(), 1).find("no free file descriptor"), std::string::npos);
    EXPECT_TRUE(is_closed(client.get()));
  }
  unsigned turns = 0;
  const auto end = push::Clock::now() + std::chrono::milliseconds(100);
  for (; push::Clock::now() < end; ++turns) loop_.turn(std::chrono::milliseconds(50));
  EXPECT_LT(turns, 50u) << "it spins";
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const OwnedFd client(connect_to(socket_path()));
  send_text(client.get(), "x\n");
  EXPECT_EQ(answers(client.get(), 1), "done\n");
}

TEST_F(ServerTest, idle_connections_are_closed_and_those_that_wait_for_an_answer_are_not) {
  Server::Reply later;
  serve([&](const Request &, Server::Reply reply) { later = std::move(reply); },
        {.idle_max = std::chrono::milliseconds(20)});
  const OwnedFd waiting(connect_to(socket_path())), idle(connect_to(socket_path())),
      half(connect_to(socket_path()));
  send_text(waiting.get(), "x\n");
  send_text(half.get(), "no end of line");
  EXPECT_TRUE(is_closed(idle.get()));
  EXPECT_TRUE(is_closed(half.get()));
  ASSERT_TRUE(later);
  later("done");
  EXPECT_EQ(answers(waiting.get(), 1), "done\n");
}

} // namespace
} // namespace weir::control::server_test
