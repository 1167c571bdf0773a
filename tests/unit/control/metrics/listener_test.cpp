// Metrics over HTTP: what is answered, to whom, and that nobody is waited for.
#include "control/metrics/listener.hpp"

#include "weir/config/listen_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

namespace weir::test::listener_test {
namespace {

using testing::HasSubstr, testing::StartsWith;

// A client with a connection of its own, on the loop's thread.
class HttpClient {
public:
  explicit HttpClient(const std::string &where) {
    if (where.starts_with('/')) {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::memcpy(to.sun_path, where.c_str(), where.size());
      fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
      connected_ = connect(fd_, reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0;
      return;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1))));
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0;
  }
  ~HttpClient() { close(fd_); }
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void say(const std::string &text) const {
    ASSERT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  }
  // Until the other end closes, or nothing comes for a while.
  std::string answer(push::EventLoop &loop) const {
    std::string got;
    for (int quiet = 0; quiet < 200;) {
      loop.turn(std::chrono::milliseconds(5));
      char buffer[65536];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n == 0) break;
      if (n > 0)
        got.append(buffer, std::size_t(n)), quiet = 0;
      else
        ++quiet;
    }
    return got;
  }

private:
  int fd_ = -1;
  bool connected_ = false;
};

class MetricsListener : public testing::Test {
protected:
  MetricsListener() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-metrics-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~MetricsListener() override { std::filesystem::remove_all(folder_); }

  std::string get(const std::string &request) {
    const HttpClient client(listener_.where());
    client.say(request);
    return client.answer(loop_);
  }
  static std::string of(const char *method, const char *path) {
    return std::string(method) + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  }

  std::filesystem::path folder_;
  push::EventLoop loop_;
  unsigned gathered_ = 0;
  std::vector<metrics::Listener::Then> open_;
  bool answers_ = true;
  bool is_well_ = true;
  metrics::Listener listener_{loop_, [this](metrics::Path path, metrics::Listener::Then then) {
                                ++gathered_;
                                if (path == metrics::Path::health)
                                  then({is_well_ ? "healthy\n" : "WRONG: no link\n", is_well_});
                                else if (answers_)
                                  then({"weir_up 1\n"});
                                else
                                  open_.push_back(std::move(then));
                              }};
};

TEST_F(MetricsListener, serves_the_page_on_loopback_and_on_a_socket) {
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  EXPECT_THAT(listener_.where(), StartsWith("127.0.0.1:"));
  const std::string answer = get(of("GET", "/metrics"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nweir_up 1\n"));
  const std::string path = folder_ / "metrics.sock";
  ASSERT_TRUE(listener_.listen("unix:" + path));
  EXPECT_EQ(listener_.where(), path);
  EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
  EXPECT_THAT(get(of("GET", "/metrics")), HasSubstr("weir_up 1"));
  ASSERT_TRUE(listener_.listen(""));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(MetricsListener, answers_nothing_else) {
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  EXPECT_THAT(get(of("GET", "/")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(of("DELETE", "/metrics")), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get("nonsense\r\n\r\n"), testing::Not(HasSubstr(" 200")));
  EXPECT_EQ(gathered_, 0u);
  const std::string head = get(of("HEAD", "/metrics"));
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
}

TEST_F(MetricsListener, says_by_its_code_and_one_line_whether_the_gate_is_well) {
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  const std::string good = get(of("GET", "/health"));
  EXPECT_THAT(good, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(good, HasSubstr("text/plain; charset=utf-8"));
  EXPECT_THAT(good, testing::EndsWith("\r\n\r\nhealthy\n"));
  is_well_ = false;
  const std::string bad = get(of("GET", "/health"));
  EXPECT_THAT(bad, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(bad, testing::EndsWith("\r\n\r\nWRONG: no link\n"));
}

TEST_F(MetricsListener, answers_about_health_while_metrics_are_gathered) {
  answers_ = false;
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  const HttpClient waits(listener_.where());
  waits.say(of("GET", "/metrics"));
  for (int i = 0; i < 20; ++i) loop_.turn(std::chrono::milliseconds(5));
  EXPECT_THAT(get(of("GET", "/health")), StartsWith("HTTP/1.1 200"));
  ASSERT_EQ(open_.size(), 1u);
  open_.front()({"late 1\n"});
  EXPECT_THAT(waits.answer(loop_), HasSubstr("late 1"));
}

TEST_F(MetricsListener, gathers_once_for_all_who_ask_at_the_same_time) {
  answers_ = false;
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  const HttpClient a(listener_.where()), b(listener_.where());
  a.say(of("GET", "/metrics"));
  b.say(of("GET", "/metrics"));
  for (int i = 0; i < 20; ++i) loop_.turn(std::chrono::milliseconds(5));
  ASSERT_EQ(open_.size(), 1u);
  open_.front()({"late 1\n"});
  EXPECT_THAT(a.answer(loop_), HasSubstr("late 1"));
  EXPECT_THAT(b.answer(loop_), HasSubstr("late 1"));
  EXPECT_EQ(gathered_, 1u);
}

TEST_F(MetricsListener, who_leaves_before_the_page_is_there_is_forgotten) {
  answers_ = false;
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  {
    const HttpClient gone(listener_.where());
    gone.say(of("GET", "/metrics"));
    for (int i = 0; i < 20; ++i) loop_.turn(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(open_.size(), 1u);
  open_.front()({"late 1\n"});
  answers_ = true;
  EXPECT_THAT(get(of("GET", "/metrics")), HasSubstr("weir_up 1"));
}

TEST_F(MetricsListener, ends_with_requests_under_way) {
  answers_ = false;
  metrics::Listener::Then late;
  {
    metrics::Listener other(loop_,
                            [&late](metrics::Path, metrics::Listener::Then then) { late = std::move(then); });
    ASSERT_TRUE(other.listen("127.0.0.1:0"));
    const HttpClient client(other.where());
    client.say(of("GET", "/metrics"));
    for (int i = 0; i < 20; ++i) loop_.turn(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(late);
  late({"nobody is there"});
}

TEST_F(MetricsListener, an_address_that_is_taken_is_told) {
  ASSERT_TRUE(listener_.listen("127.0.0.1:0"));
  metrics::Listener other(loop_, [](metrics::Path, const metrics::Listener::Then &) {});
  const Status second = other.listen(listener_.where());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be had"));
  EXPECT_EQ(other.where(), "");
  EXPECT_FALSE(other.listen((folder_ / "missing" / "x.sock").string()));
}

TEST(ListenAddress, is_of_loopback_or_a_path) {
  EXPECT_EQ(config::parse_listen("127.0.0.1:9273").value().port, 9273);
  EXPECT_EQ(config::parse_listen("127.0.0.2:1").value().v4, 0x7F000002u);
  EXPECT_TRUE(config::parse_listen("[::1]:80").value().is_v6);
  EXPECT_EQ(config::parse_listen("localhost:80").value().v4, 0x7F000001u);
  EXPECT_EQ(config::parse_listen("unix:/run/x").value().path, "/run/x");
  EXPECT_EQ(config::parse_listen("/run/x").value().path, "/run/x");
  for (const char *bad : {"", "9273", "0.0.0.0:9273", "192.0.2.1:80", "[::]:80", "[2001:db8::1]:80",
                          "127.0.0.1:65536", "127.0.0.1:", "example.com:80", "unix:relative"}) {
    const auto at = config::parse_listen(bad);
    ASSERT_FALSE(at) << bad;
    EXPECT_THAT(at.error().message, HasSubstr("127.0.0.1:9273")) << bad;
  }
}

} // namespace
} // namespace weir::test::listener_test
