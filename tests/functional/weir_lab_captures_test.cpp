// weir-lab slbf over captures: elements and traits are those of the dataplane, labels decide what is told, and mistakes are named.
#include "tests/support/capture_file.hpp"
#include "tests/support/process.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <random>

namespace weir::test::weir_lab_captures_test {
namespace {

using Json = nlohmann::json;

constexpr unsigned sources = 900;

std::string source(unsigned i) {
  return "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
}

Frame packet(unsigned i, unsigned port, unsigned flags) {
  return FrameBuilder().ethernet().ipv4({.source = source(i)}).tcp(40'000, port, flags).frame();
}

// Odd sources begin connections to port 22, even ones send data to 443; each packet comes twice.
Capture connections() {
  Capture capture{.kind = CaptureKind::micro, .frames = {}};
  for (unsigned round = 0; round < 2; ++round)
    for (unsigned i = 0; i < sources; ++i)
      capture.frames.push_back(i % 2 == 1 ? packet(i, 22, 0x02) : packet(i, 443, 0x18));
  return capture;
}

class WeirLabCaptures : public testing::Test {
protected:
  template <class Bad> void label(Bad is_bad) {
    std::string text = "# source, label\n";
    for (unsigned i = 0; i < sources; ++i) text += source(i) + (is_bad(i) ? " 1\n" : " 0\n");
    write_text(labels_, text);
  }
  [[nodiscard]] Outcome slbf(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{program("weir-lab").string(),
                                       "slbf",
                                       "--data",
                                       capture_.string(),
                                       "--labels",
                                       labels_.string(),
                                       "--gap",
                                       "20",
                                       "--no-timing"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  [[nodiscard]] Json report(std::vector<std::string> more = {}) const {
    const Outcome outcome = slbf(std::move(more));
    EXPECT_TRUE(outcome.ok()) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  void expect_refused(const std::string &why) const {
    const Outcome outcome = slbf();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  }

  TempDir folder_;
  std::filesystem::path capture_ = folder_ / "traffic.pcap", labels_ = folder_ / "traffic.labels";
};

TEST_F(WeirLabCaptures, tell_sources_with_a_label_of_1_once_for_each_kind_of_packet) {
  Capture capture = connections();
  capture.frames.push_back(
      packet(1, 80, 0x02)); // another port class: another element of a source that is known
  capture.frames.push_back(FrameBuilder().ethernet().arp("10.9.9.9", "10.9.9.8").frame());
  capture.frames.push_back(FrameBuilder().ethernet().ipv4({.source = "10.9.9.9"}).tcp(1, 22).frame());
  write_capture(capture_, capture);
  label([](unsigned i) { return i % 2 == 1; });
  const Json json = report(), &counts = json.at("capture");
  EXPECT_EQ(counts.at("packets"), 2 * sources + 3);
  EXPECT_EQ(counts.at("not_judged"), 1);
  EXPECT_EQ(counts.at("unlabelled"), 1);
  EXPECT_EQ(counts.at("sources"), sources);
  EXPECT_EQ(counts.at("told"), sources / 2 + 1);
  EXPECT_EQ(counts.at("others"), sources / 2);
  EXPECT_GT(json.at("auc"), 0.99);
  ASSERT_EQ(json.at("filters").size(), 7u);
  EXPECT_GT(json.at("model_bits"), 0);
}

TEST_F(WeirLabCaptures, are_learned_from_headers_and_not_from_labels) {
  write_capture(capture_, connections());
  const std::uint64_t seed = seed_or(5);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  label([&](unsigned) { return random() % 2 == 1; });
  const double auc = report({"--trees", "10"}).at("auc");
  EXPECT_GT(auc, 0.35);
  EXPECT_LT(auc, 0.65);
}

TEST_F(WeirLabCaptures, repeat_themselves_for_the_same_seed) {
  write_capture(capture_, connections());
  label([](unsigned i) { return i % 3 == 1; });
  EXPECT_EQ(report({"--seed", "3"}), report({"--seed", "3"}));
  EXPECT_NE(report({"--seed", "3"}).at("filters"), report({"--seed", "4"}).at("filters"));
}

TEST_F(WeirLabCaptures, are_refused_with_line_or_packet_and_value) {
  Capture capture = connections();
  write_capture(capture_, capture);
  write_text(labels_, "10.1.0.1 1\n10.1.0.2 maybe\n");
  expect_refused("line 2: '10.1.0.2 maybe'");
  write_text(labels_, "10.1.0.1 1\n10.1.0.1 0\n");
  expect_refused("line 2: 10.1.0.1 has the other label");
  write_text(labels_, "10.1.0.1 1\n");
  expect_refused("record more traffic");
  label([](unsigned i) { return i % 2 == 1; });
  const auto bytes = std::filesystem::file_size(capture_);
  std::filesystem::resize_file(capture_, bytes - 1);
  expect_refused("packet 1800: the file ends");
  capture.kind = CaptureKind::pcapng;
  write_capture(capture_, capture);
  expect_refused("editcap");
  capture.kind = CaptureKind::nano;
  capture.link_type = 113;
  write_capture(capture_, capture);
  expect_refused("link type 113");
}

// Servers, scans, floods and guesses in namespaces of the script's own.
TEST_F(WeirLabCaptures, are_recorded_and_learned) {
  const auto errors = folder_ / "errors";
  Child recorder(
      {.arguments = {(source_tree() / "tests/lab/record_traffic.py").string(), (folder_ / "traffic").string(),
                     "--sources", "300", "--packets-max", "6000", "--seconds-max", "20"},
       .errors = errors});
  const std::string own = "-" + std::to_string(recorder.pid());
  const auto code = recorder.wait(std::chrono::seconds(60));
  ASSERT_TRUE(code.has_value()) << read_text(errors);
  if (*code == 77) GTEST_SKIP() << read_text(errors);
  ASSERT_EQ(*code, 0) << read_text(errors);
  const Json json = report({"--trees", "40"}), &counts = json.at("capture");
  EXPECT_GT(counts.at("packets"), 1'000);
  EXPECT_LE(counts.at("packets"), 6'000);
  EXPECT_EQ(counts.at("unlabelled"), 0) << "sources are the script's own";
  EXPECT_GT(counts.at("sources"), 250);
  EXPECT_GT(json.at("auc"), 0.75);
  for (const Json &filter : json.at("filters"))
    if (filter.at("name") == "rotating") {
      EXPECT_EQ(filter.at("fnr"), 0);
    }
  const std::string left = run({"ip", "netns", "list"}).out;
  for (const char *role : {"weir-traffic-server", "weir-traffic-client"})
    EXPECT_EQ(left.find(role + own), std::string::npos) << left;
}

} // namespace
} // namespace weir::test::weir_lab_captures_test
