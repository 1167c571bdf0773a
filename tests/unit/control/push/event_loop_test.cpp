// What a function throws ends that function: the loop goes on, and whoever waits for a result gets one.
#include "control/engine/background.hpp"
#include "control/push/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::push::event_loop_test {
namespace {

// As when the kernel has no memory for it: here the descriptor comes to be later.
TEST(EventLoop, tells_the_kernel_again_what_it_refused_to_watch) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int later = dup(ends[0]);
  ASSERT_GE(later, 0);
  close(later);
  bool called = false;
  loop.watch(later, EPOLLIN, [&](std::uint32_t) { called = true; });
  loop.turn(std::chrono::milliseconds(1));
  EXPECT_FALSE(called);
  ASSERT_EQ(dup2(ends[0], later), later);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  for (int turns = 0; turns < 100 && !called; ++turns) loop.turn(std::chrono::hours(1));
  EXPECT_TRUE(called);
  loop.forget(later);
  for (const int fd : {ends[0], ends[1], later}) close(fd);
}

TEST(EventLoop, goes_on_after_what_a_task_a_timer_or_a_socket_throws_and_tells_it) {
  EventLoop loop;
  std::vector<std::string> told;
  loop.on_fault = [&](const std::string &what) { told.push_back(what); };
  const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  loop.watch(fd, EPOLLIN, [&](std::uint32_t) {
    loop.forget(fd);
    throw std::runtime_error("socket");
  });
  int done = 0;
  loop.post([] { throw std::runtime_error("task"); });
  loop.post([] { throw 5; });
  loop.post([&] { ++done; });
  loop.after(std::chrono::milliseconds(0), [] { throw std::runtime_error("timer"); });
  loop.after(std::chrono::milliseconds(1), [&] { ++done; });
  const auto end = Clock::now() + std::chrono::seconds(60);
  while ((done < 2 || told.size() < 4) && Clock::now() < end) loop.turn(std::chrono::milliseconds(10));
  EXPECT_EQ(done, 2);
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{"socket", "something that is no exception", "task", "timer"}));
  close(fd);
}

TEST(Background, answers_with_what_the_work_throws) {
  EventLoop loop;
  control::Background background(loop, 1);
  std::vector<std::string> messages;
  const auto then = [&](const Result<int> &result) {
    messages.push_back(result ? std::to_string(*result) : result.error().message);
  };
  background.run([]() -> Result<int> { return 7; }, then);
  background.run([]() -> Result<int> { throw std::bad_alloc(); }, then);
  background.run([]() -> Result<int> { throw std::out_of_range("the map has no such key"); }, then);
  background.run([]() -> Result<int> { throw 5; }, then);
  background.run([]() -> Status { throw std::bad_alloc(); },
                 [&](const Status &status) { messages.push_back(status ? "done" : status.error().message); });
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (messages.size() < 5 && Clock::now() < end) loop.turn(std::chrono::milliseconds(10));
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0], "7");
  EXPECT_EQ(messages[1], "out of memory");
  EXPECT_NE(messages[2].find("the map has no such key"), std::string::npos);
  EXPECT_EQ(messages[3], "unknown fault");
  EXPECT_EQ(messages[4], "out of memory");
}

} // namespace
} // namespace weir::push::event_loop_test
