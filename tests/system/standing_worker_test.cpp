// A worker that comes round its loop no more, though the process lives: what an operator, a load balancer and systemd see of it.
#include "tests/system/gate.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weir::test::standing_worker_test {
namespace {

using Json = nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

// Stands in for systemd, which waits for a sign of life each two seconds.
class ServiceManager {
public:
  explicit ServiceManager(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    const timeval patience{.tv_sec = 0, .tv_usec = 50'000};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    listener_ = std::jthread([this](const std::stop_token &stop) { // the kernel keeps a few datagrams alone
      char text[512];
      while (!stop.stop_requested())
        if (const ssize_t got = recv(fd_, text, sizeof text, 0); got >= 0) {
          const std::lock_guard lock(mutex_);
          heard_.append(text, static_cast<std::size_t>(got)).append("\n");
        }
    });
  }
  ~ServiceManager() {
    minds_nobody_else();
    listener_ = {};
    close(fd_);
  }
  ServiceManager(const ServiceManager &) = delete;
  ServiceManager &operator=(const ServiceManager &) = delete;

  // Processes that start from here on speak to nobody.
  static void minds_nobody_else() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
  }

  // Everything since the last question, one line for each datagram.
  [[nodiscard]] std::string heard() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }

private:
  int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::mutex mutex_;
  std::string heard_;
  std::jthread listener_;
};

TEST(StandingWorker, makes_health_fail_and_starves_the_watchdog_until_it_comes_round_again) {
  const TempDir folder;
  ServiceManager systemd(folder / "notify");
  const auto pair = idle_pair("- {name: bans, action: deny, dynamic: true}\n",
                              "metrics: {listen: " + (folder / "metrics").string() + "}\n");
  pair->start_dataplane();
  systemd.minds_nobody_else();
  pair->start_control();
  ASSERT_TRUE(pair->ready());
  const auto fed = [&] { return systemd.heard().find("WATCHDOG=1") != std::string::npos; };
  const auto health = [&](const char *format) {
    std::vector<std::string> words{program("weirctl"), "-s", pair->folder() / "run" / "control.sock",
                                   "health"};
    if (*format != 0) words.insert(words.begin() + 1, format);
    return run(words);
  };
  const auto over_http = [&] {
    return run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", folder / "metrics",
                "http://weir/health"})
        .out;
  };
  ASSERT_TRUE(wait_until(fed, 10s)) << "the watchdog of a gate that is well is fed";
  ASSERT_EQ(health("").code, 0);
  ASSERT_EQ(over_http(), "200");

  Child holder({.arguments = {"python3", source_tree() / "tests/support/hold_thread.py",
                              std::to_string(pair->dataplane().pid()), "worker"},
                .output = folder / "holder"});
  if (!wait_until([&] { return !holder.running() || !read_text(folder / "holder").empty(); }, 10s) ||
      !holder.running())
    GTEST_SKIP() << "no thread can be held here: " << read_text(folder / "holder");
  ASSERT_TRUE(wait_until([&] { return health("").code == 1; }, 20s))
      << "health is content with a worker that stands";
  EXPECT_THAT(health("").out,
              ContainsRegex("WRONG: worker 0 on lcore [0-9]+ has not come round its loop for"));
  EXPECT_EQ(Json::parse(health("-j").out).at("healthy"), false);
  EXPECT_EQ(over_http(), "503");
  EXPECT_THAT(run({program("weirctl"), "-s", pair->folder() / "run" / "control.sock", "status"}).out,
              testing::StartsWith("WRONG: worker 0"));
  EXPECT_THAT(systemd.heard(), HasSubstr("STATUS=worker 0 on lcore"));
  std::this_thread::sleep_for(3s);
  EXPECT_FALSE(fed()) << "systemd would leave it as it is";
  EXPECT_THAT(read_text(pair->dataplane_log()), HasSubstr("has not come round its loop"));

  holder.stop(SIGKILL, 5s); // and the kernel lets the thread go
  EXPECT_TRUE(wait_until([&] { return health("").code == 0; }, 20s));
  EXPECT_TRUE(wait_until(fed, 10s));
  EXPECT_EQ(over_http(), "200");
  EXPECT_THAT(read_text(pair->dataplane_log()), HasSubstr("comes round again"));
}

} // namespace
} // namespace weir::test::standing_worker_test
