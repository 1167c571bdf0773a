// For how long packets are not forwarded over a restart: what an operator is told.
#include "tests/system/gate.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <thread>

namespace weir::test::restart_gap_test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class RestartGap : public Gate {
protected:
  // Seconds, from status; below 0: nothing is said.
  [[nodiscard]] double told() {
    const Json dataplane = pair().must({"status"}).value("dataplane", Json::object());
    return dataplane.contains("not_forwarded_ms") ? dataplane["not_forwarded_ms"].get<double>() / 1e3 : -1;
  }
};

// Pings every 10 ms say how long the link was cut; what is told must be as much, but for starts and ends of both.
TEST_F(RestartGap, an_upgrade_with_traffic_says_for_how_long_the_link_was_cut) {
  ASSERT_NO_FATAL_FAILURE(open(std::string(bans)));
  EXPECT_LT(told(), 0) << "there was no run before";
  for (const int signal : {SIGTERM, SIGKILL}) {
    const auto file = pair().folder() / fmt::format("pings{}", signal);
    Child pings({.arguments = {"ping", "-n", "-D", "-i", "0.01", GatedNetwork::server4},
                 .output = file,
                 .netns = network().client.name()});
    std::this_thread::sleep_for(500ms);
    ASSERT_TRUE(pair().dataplane().stop(signal, 20s));
    std::this_thread::sleep_for(1500ms);
    pair().start_dataplane();
    ASSERT_TRUE(pair().ready());
    ASSERT_TRUE(wait_until([this] { return network().ping(GatedNetwork::server4); }, 20s));
    pings.stop(SIGINT, 5s);
    double last = 0, longest = 0;
    std::ifstream answers(file);
    const std::regex time(R"(^\[(\d+\.\d+)\] \d+ bytes)");
    for (std::string line; std::getline(answers, line);)
      if (std::smatch match; std::regex_search(line, match, time)) {
        const double now = std::stod(match[1]);
        if (last > 0) longest = std::max(longest, now - last);
        last = now;
      }
    const double gap = told();
    EXPECT_GE(gap, 1.5) << signal;
    EXPECT_GE(longest, gap - 0.1) << "no ping was answered meanwhile, signal " << signal;
    EXPECT_LE(longest, gap + 5) << "signal " << signal;
    EXPECT_THAT(read_text(pair().dataplane_log()),
                HasSubstr(fmt::format("packets were not forwarded for {:.1f} s", gap)));
    fmt::print("signal {}: told {:.2f} s, {:.2f} s between two answered pings\n", signal, gap, longest);
  }
}

TEST_F(RestartGap, a_file_of_somebody_else_or_of_another_boot_is_not_believed) {
  ASSERT_NO_FATAL_FAILURE(open(std::string(bans)));
  const auto file = pair().folder() / "run" / "forwarding";
  ASSERT_EQ(std::filesystem::file_size(file), 48u);
  enum class Left { shorter, writable_by_others, of_another_boot };
  for (const Left left : {Left::shorter, Left::writable_by_others, Left::of_another_boot}) {
    ASSERT_TRUE(pair().dataplane().stop(SIGTERM, 20s));
    if (left == Left::shorter)
      write_text(file, "x");
    else if (left == Left::writable_by_others)
      std::filesystem::permissions(file, std::filesystem::perms::all);
    else
      std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
          .put('x'); // of the kernel's name for the boot
    pair().start_dataplane();
    ASSERT_TRUE(pair().ready());
    EXPECT_LT(told(), 0);
    EXPECT_EQ(std::filesystem::file_size(file), 48u) << "a new one was made";
    EXPECT_EQ(std::filesystem::status(file).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
}

} // namespace
} // namespace weir::test::restart_gap_test
