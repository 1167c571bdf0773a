#include "control/cli/follow_drops.hpp"

#include "control/cli/capture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/stand_in_control.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace weir::cli::follow_drops_test {
namespace {

using test::StandInControl;
using test::TempDir;

// IPv4, TCP from 203.0.113.9 to 192.0.2.1, port 443.
constexpr const char *packet =
    R"({"number":1,"at_ns":1700000000123456789,"port":"wan","queue":2,"generation":4,
  "reason":"deny","list":"drop","entry":"203.0.113.0/24","comment":"SBL256894","address":"203.0.113.9","length":74,
  "left_out":5,"bytes":"0200000000010200000000020800450000280000000040060000cb007109c000020104d201bb0000000000000000"})";

std::string answer(const std::string &packets, unsigned next, unsigned overwritten = 0) {
  std::string text = R"({"ok":true,"next":)" + std::to_string(next) + R"(,"overwritten":)" +
                     std::to_string(overwritten) + R"(,"packets":[)" + packets + "]}";
  std::erase(text, '\n');
  return text;
}

struct Outcome {
  int code = -1;
  std::string out, err;
};

Outcome follow(const StandInControl &control, const std::function<void(Options &)> &with) {
  Options options;
  options.verb = Verb::drops;
  options.drops.follow = true;
  options.socket = control.socket();
  with(options);
  std::ostringstream out, err;
  const int code = follow_drops(options, out, err);
  return {code, out.str(), err.str()};
}

TEST(CliFollowDrops, a_line_says_when_where_why_and_what) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(drop_line(Json::parse(packet)), "22:13:20.123456  wan queue 2  deny list drop 203.0.113.0/24 "
                                            "SBL256894  203.0.113.9 > 192.0.2.1 tcp 443  74 bytes");
  EXPECT_EQ(drop_comment({{"reason", "malformed"}}), "malformed");
  EXPECT_EQ(drop_comment(Json::parse(packet)), "deny list drop 203.0.113.0/24 SBL256894");
}

TEST(CliFollowDrops, asks_on_from_where_it_was_and_counts_what_it_did_not_see) {
  StandInControl control(
      {answer("", 7), answer(packet, 8, 3), answer(std::string(packet) + "," + packet, 10)});
  const Outcome end = follow(control, [](Options &options) { options.count = 3; });
  EXPECT_EQ(end.code, exit_done) << end.err;
  EXPECT_EQ(std::ranges::count(end.out, '\n'), 3) << end.out;
  EXPECT_EQ(end.err, "3 packets; 18 more were dropped and not seen\n");
  ASSERT_EQ(control.requests().size(), 3u);
  EXPECT_EQ(Json::parse(control.requests()[0])["from"], 0);
  EXPECT_EQ(Json::parse(control.requests()[1])["from"], 7);
  EXPECT_EQ(Json::parse(control.requests()[2])["from"], 8);
}

TEST(CliFollowDrops, a_filter_takes_what_tcpdump_would) {
  StandInControl control({answer(std::string(packet) + "," + packet, 3), answer("", 3)});
  const Outcome none = follow(control, [](Options &options) {
    options.drops.filter = "udp or port 80";
    options.count = 1;
  });
  EXPECT_EQ(none.code, exit_unreachable) << "the stand-in has ended";
  StandInControl again({answer(packet, 2)});
  const Outcome one = follow(again, [](Options &options) {
    options.drops.filter = "tcp port 443 and src net 203.0.113.0/24";
    options.count = 1;
  });
  EXPECT_EQ(one.code, exit_done) << one.err;
  const Outcome bad = follow(again, [](Options &options) { options.drops.filter = "tcp prot 443"; });
  EXPECT_EQ(bad.code, exit_usage);
  EXPECT_NE(bad.err.find("--filter \"tcp prot 443\""), std::string::npos) << bad.err;
}

TEST(CliFollowDrops, a_capture_file_has_them_with_what_was_missed) {
  const TempDir folder;
  const auto file = folder / "denied.pcapng";
  StandInControl control({answer(packet, 2, 3)});
  const Outcome end = follow(control, [&](Options &options) {
    options.drops.write = file;
    options.count = 1;
  });
  EXPECT_EQ(end.code, exit_done) << end.err;
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(inspect_capture(file, true).value().packets, 1u);
  EXPECT_NE(test::read_text(file).find("SBL256894"), std::string::npos);
}

TEST(CliFollowDrops, a_packet_in_a_file_says_how_many_before_it_are_missing_whatever_a_filter_left_out) {
  const TempDir folder;
  const auto file = folder / "denied.pcapng";
  std::string web = packet; // to port 80
  web.replace(web.find("01bb"), 4, "0050");
  StandInControl control({answer(std::string(packet) + "," + web, 3, 2)});
  const Outcome end = follow(control, [&](Options &options) {
    options.drops.write = file;
    options.drops.filter = "port 80";
    options.count = 1;
  });
  EXPECT_EQ(end.code, exit_done) << end.err;
  const std::uint64_t missing = 2 + 5 + 5;
  const std::string option =
      std::string("\x04\0\x08\0", 4) + std::string(reinterpret_cast<const char *>(&missing), sizeof missing);
  EXPECT_NE(test::read_text(file).find(option), std::string::npos) << "epb_dropcount";
  EXPECT_EQ(end.err, "1 packet of 2; 12 more were dropped and not seen, in " + file.string() + "\n");
}

TEST(CliFollowDrops, who_may_only_look_gets_lines_and_no_file) {
  const std::string bare =
      R"({"at_ns":1,"port":"wan","queue":0,"reason":"deny","list":"drop","address":"203.0.113.9","length":74,"left_out":0})";
  StandInControl control({answer(bare, 2)});
  const Outcome lines = follow(control, [](Options &options) { options.count = 1; });
  EXPECT_EQ(lines.code, exit_done);
  EXPECT_NE(lines.out.find("deny list drop  203.0.113.9  74 bytes"), std::string::npos) << lines.out;
  const TempDir folder;
  StandInControl again({answer(bare, 2)});
  const Outcome end = follow(again, [&](Options &options) { options.drops.write = folder / "a.pcapng"; });
  EXPECT_EQ(end.code, exit_refused);
}

TEST(CliFollowDrops, an_error_of_control_ends_it) {
  StandInControl control({R"({"ok":false,"code":"unreachable","message":"no dataplane is connected"})"});
  const Outcome end = follow(control, [](Options &) {});
  EXPECT_EQ(end.code, exit_unreachable);
  EXPECT_EQ(end.err, "weirctl: no dataplane is connected\n");
}

} // namespace
} // namespace weir::cli::follow_drops_test
