// Replay as users meet it: what goes in comes out once, in order and unchanged, whatever the file,
// the rules and the number of generations; and an end that is not an end is an error.
#include "tests/support/image_pusher.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/replay_run.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <thread>

namespace weir::test::replay_test {
namespace {

using namespace std::chrono_literals;

RuleSet one_list(const char *prefix) {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, {*parse_prefix(prefix)}}};
  return rules;
}

std::vector<Frame> random_frames(Random &random, const RuleSet &rules, std::size_t count) {
  std::vector<Frame> frames(count);
  std::int64_t time = 1'700'000'000'123'456'789;
  for (Frame &frame : frames) {
    frame = random_frame(random, rules);
    if (random.one_in(50)) frame.bytes.resize(random.below(20'000)); // jumbo
    frame.original_bytes =
        static_cast<std::uint32_t>(frame.bytes.size()) + (random.one_in(3) ? random.below(2000) : 0);
    frame.timestamp_ns = time += random.below(3'000'000) - 500'000; // now and then backwards
  }
  return frames;
}

std::vector<Frame> rounded_to_microseconds(std::vector<Frame> frames) {
  for (Frame &frame : frames) frame.timestamp_ns -= frame.timestamp_ns % 1000;
  return frames;
}

const char *const config_text =
    "version: 1\neal: {hugepages: no}\nlists:\n- {name: bad, action: deny, entries: "
    "[203.0.113.0/24]}\n";

// A dataplane in replay mode whose generations the test pushes itself.
class Replay : public testing::Test {
protected:
  void SetUp() override { write_text(run_ / "weir.yaml", config_text); }

  void start(const std::vector<std::string> &options = {}, const std::string &capture = "in.pcap") {
    run_.start_dataplane(options, capture);
    pusher_ = std::make_unique<ImagePusher>(run_ / "run/dataplane.sock");
  }
  int finish() {
    pusher_.reset();
    return run_.dataplane.wait(60s).value_or(-1);
  }

  ReplayRun run_;
  std::unique_ptr<ImagePusher> pusher_;
};

// ---- files -------------------------------------------------------------------------------------

class ReplayFiles : public Replay, public testing::WithParamInterface<CaptureKind> {};

TEST_P(ReplayFiles, hold_every_packet_once_unchanged_and_in_order) {
  Random random(test_seed());
  const RuleSet rules = random_rules(random);
  const Oracle oracle = rules.oracle();
  Capture capture{.kind = GetParam(),
                  .snapshot_bytes = 20'001,
                  .link_type = 1,
                  .frames = random_frames(random, rules, 5000)};
  if (GetParam() == CaptureKind::micro) capture.frames = rounded_to_microseconds(std::move(capture.frames));
  write_capture(run_ / "in.pcap", capture);
  start();
  pusher_->push(rules, {.seed = random.bits()});
  ASSERT_EQ(finish(), 0) << run_.logs();

  const Capture passed = read_capture(run_ / "pass.pcap"), denied = read_capture(run_ / "denied.pcap");
  for (const Capture *file : {&passed, &denied}) {
    EXPECT_EQ(file->kind, GetParam() == CaptureKind::micro ? CaptureKind::micro : CaptureKind::nano);
    EXPECT_EQ(file->snapshot_bytes, capture.snapshot_bytes);
    EXPECT_EQ(file->link_type, 1u);
    EXPECT_GT(file->frames.size(), 100u) << "seed " << test_seed();
  }
  std::vector<Frame> should_pass, should_not;
  for (const Frame &frame : capture.frames)
    (oracle.judge(frame.bytes).verdict == Verdict::pass ? should_pass : should_not).push_back(frame);
  EXPECT_TRUE(passed.frames == should_pass) << "seed " << test_seed();
  EXPECT_TRUE(denied.frames == should_not) << "seed " << test_seed();

  const ReplayReport report = run_.report();
  EXPECT_EQ(report.read, 5000u);
  EXPECT_EQ(report.written, 5000u);
  EXPECT_TRUE(report.eof);
  EXPECT_FALSE(report.truncated);
  EXPECT_EQ(report.lost, 0u);
}

std::string name_of_kind(const testing::TestParamInfo<CaptureKind> &kind) {
  constexpr std::array names{"microseconds", "nanoseconds", "pcapng"};
  return names[static_cast<std::size_t>(kind.param)];
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReplayFiles,
                         testing::Values(CaptureKind::micro, CaptureKind::nano, CaptureKind::pcapng),
                         name_of_kind);

TEST_F(Replay, of_a_capture_cut_inside_a_packet_ends_there_and_says_so) {
  for (const CaptureKind kind : {CaptureKind::nano, CaptureKind::pcapng}) {
    ReplayRun run;
    write_text(run / "weir.yaml", config_text);
    const Frame frame = FrameBuilder().ethernet().ipv4().udp(1, 2).payload(100).frame();
    write_capture(run / "in.pcap", {.kind = kind, .frames = std::vector<Frame>(10, frame)});
    std::filesystem::resize_file(run / "in.pcap", std::filesystem::file_size(run / "in.pcap") - 50);
    run.start_dataplane({}, "in.pcap");
    ImagePusher(run / "run/dataplane.sock").push(one_list("203.0.113.9"), {});
    ASSERT_EQ(run.dataplane.wait(30s), 0) << run.logs();
    EXPECT_EQ(read_capture(run / "pass.pcap").frames.size(), 9u);
    EXPECT_TRUE(run.report().truncated);
    EXPECT_EQ(run.report().packets, 9u);
  }
}

TEST_F(Replay, whose_messages_nobody_takes_is_whole_and_fails_where_totals_were_asked_for) {
  const Frame frame = FrameBuilder().ethernet().ipv4().udp(1, 2).payload(100).frame();
  for (const bool totals : {false, true}) {
    ReplayRun run;
    write_text(run / "weir.yaml", config_text);
    write_capture(run / "in.pcap", {.frames = std::vector<Frame>(10, frame)});
    std::filesystem::create_symlink("/dev/full", run / "dataplane.log");
    run.start_dataplane(totals ? std::vector<std::string>{"--print-totals"} : std::vector<std::string>{},
                        "in.pcap");
    ImagePusher(run / "run/dataplane.sock").push(one_list("203.0.113.9"), {});
    EXPECT_EQ(run.dataplane.wait(30s), totals ? 1 : 0);
    EXPECT_EQ(read_capture(run / "pass.pcap").frames.size(), 10u);
    EXPECT_EQ(run.report().packets, 10u);
  }
}

TEST_F(Replay, of_an_empty_capture_ends_well) {
  write_capture(run_ / "in.pcap", {});
  start();
  pusher_->push(one_list("203.0.113.9"), {});
  ASSERT_EQ(finish(), 0) << run_.logs();
  EXPECT_EQ(run_.report().packets, 0u);
  EXPECT_TRUE(run_.report().eof);
  EXPECT_EQ(read_capture(run_ / "pass.pcap").frames.size(), 0u);
}

// What must be refused before anything runs.
class ReplayRefuses : public Replay {
protected:
  void expect_refusal(const std::vector<std::string> &said, const std::vector<std::string> &options = {},
                      int code = 1) {
    run_.start_dataplane(options, "in.pcap");
    EXPECT_EQ(run_.dataplane.wait(30s), code) << run_.logs();
    for (const std::string &text : said)
      EXPECT_NE(run_.logs().find(text), std::string::npos) << text << run_.logs();
    EXPECT_FALSE(std::filesystem::exists(run_ / "report.json"));
  }
  std::vector<Frame> frames_{FrameBuilder().ethernet().ipv4().udp(1, 2).frame()};
};

TEST_F(ReplayRefuses, a_capture_of_another_link_type) {
  write_capture(run_ / "in.pcap", {.link_type = 113, .frames = frames_}); // Linux cooked
  expect_refusal({"in.pcap", "LINUX_SLL", "Ethernet"});
}

TEST_F(ReplayRefuses, a_file_that_is_no_capture) {
  write_text(run_ / "in.pcap", "these are not packets, these are words");
  expect_refusal({"in.pcap", "not a capture"});
}

TEST_F(ReplayRefuses, a_capture_that_is_not_there) { expect_refusal({"in.pcap", "No such file"}); }

TEST_F(ReplayRefuses, to_write_over_the_capture_that_it_reads) {
  write_capture(run_ / "in.pcap", {.frames = frames_});
  const auto before = read_text(run_ / "in.pcap");
  expect_refusal({"in.pcap", "twice"}, {"--out", "in.pcap"}, 2);
  EXPECT_EQ(read_text(run_ / "in.pcap"), before);
}

TEST_F(ReplayRefuses, a_gate_that_it_cannot_read) {
  write_capture(run_ / "in.pcap", {.frames = frames_});
  expect_refusal({"--gate", "INDEX:GENERATION"}, {"--gate", "12"}, 2);
}

TEST_F(Replay, stops_with_an_error_at_a_corrupt_record) {
  const Frame frame = FrameBuilder().ethernet().ipv4().udp(1, 2).frame();
  write_capture(run_ / "in.pcap", {.frames = std::vector<Frame>(10, frame)});
  std::string bytes = read_text(run_ / "in.pcap");
  const std::size_t record = 16 + frame.bytes.size();
  bytes[24 + 5 * record + 11] = 0x7F; // captured length of the sixth packet: two billion
  write_text(run_ / "in.pcap", bytes);
  start();
  pusher_->push(one_list("203.0.113.9"), {});
  EXPECT_EQ(finish(), 1) << run_.logs();
  EXPECT_NE(run_.logs().find("in.pcap: packet 5"), std::string::npos) << run_.logs();
  EXPECT_FALSE(std::filesystem::exists(run_ / "report.json"));
}

// ---- time --------------------------------------------------------------------------------------

TEST_F(Replay, starts_when_the_first_generation_is_live) {
  write_capture(run_ / "in.pcap",
                {.frames = std::vector<Frame>(100, FrameBuilder().ethernet().ipv4().udp(1, 2).frame())});
  start();
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(pusher_->stats().read, 0u);
  pusher_->push(one_list("203.0.113.9"), {});
  ASSERT_EQ(finish(), 0) << run_.logs();
  EXPECT_EQ(run_.report().generations, (std::map<std::string, std::uint64_t>{{"1", 100}}));
}

TEST_F(Replay, holds_packets_at_a_gate_until_the_generation_is_live) {
  const Frame frame = FrameBuilder().ethernet().ipv4({.source = "203.0.113.9"}).udp(1, 2).frame();
  write_capture(run_ / "in.pcap", {.frames = std::vector<Frame>(100, frame)});
  start({"--gate", "130:2", "--loop", "2"});
  pusher_->push(one_list("203.0.113.9"), {.generation = 1});
  ASSERT_TRUE(wait_until([&] { return pusher_->stats().written == 130; }, 10s)) << run_.logs();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(pusher_->stats().written, 130u);
  pusher_->push(one_list("203.0.113.10"), {.generation = 2});
  ASSERT_EQ(finish(), 0) << run_.logs();
  const auto rows = run_.verdicts();
  ASSERT_EQ(rows.size(), 200u);
  for (const VerdictRow &row : rows) EXPECT_EQ(row.verdict, row.index < 130 ? "drop" : "pass") << row.index;
}

TEST_F(Replay, keeps_to_the_rate_asked_for) {
  write_capture(run_ / "in.pcap",
                {.frames = std::vector<Frame>(500, FrameBuilder().ethernet().ipv4().udp(1, 2).frame())});
  start({"--rate", "1000"});
  const auto begin = std::chrono::steady_clock::now();
  pusher_->push(one_list("203.0.113.9"), {});
  ASSERT_EQ(finish(), 0) << run_.logs();
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 450ms);
}

// ---- generations -------------------------------------------------------------------------------

// Twenty generations come into force while packets flow. The next is pushed as soon as the one
// before it has judged anything, so most swaps happen in the middle of a stretch of packets.
TEST_F(Replay, judges_each_packet_by_exactly_one_generation_and_never_steps_back) {
  constexpr std::uint64_t generations = 20, stretch = 3000;
  Random random(test_seed());
  std::vector<RuleSet> rules(generations + 1);
  std::vector<Oracle> oracles(generations + 1);
  for (std::uint64_t g = 1; g <= generations; ++g) {
    rules[g] = random_rules(random, {.lists = 4, .prefixes_per_list = 60});
    rules[g].policy.tunnels = static_cast<Tunnels>(g % 3);
    oracles[g] = rules[g].oracle();
  }
  std::vector<Frame> frames(stretch);
  for (Frame &frame : frames) frame = random_frame(random, rules[1 + random.below(generations)]);
  write_capture(run_ / "in.pcap", {.frames = frames});

  const std::string rate = "60000"; // 50 ms a stretch
  std::vector<std::string> options{"--loop", std::to_string(generations), "--rate", rate};
  for (std::uint64_t g = 2; g <= generations; ++g) // no generation finds the capture at its end
    options.insert(options.end(), {"--gate", std::to_string((g - 1) * stretch) + ":" + std::to_string(g)});
  start(options);
  for (std::uint64_t g = 1; g <= generations; ++g) {
    pusher_->push(rules[g], {.seed = random.bits(), .generation = g, .front_filter = g % 2 == 0});
    if (g == generations) break;
    const std::string name = std::to_string(g);
    ASSERT_TRUE(wait_until([&] { return pusher_->stats().generations[name] > 0; }, 10s)) << run_.logs();
  }
  ASSERT_EQ(finish(), 0) << run_.logs();

  const auto rows = run_.verdicts();
  ASSERT_EQ(rows.size(), generations * stretch);
  std::map<std::uint64_t, std::uint64_t> judged;
  std::uint64_t last = 0, mid_stretch = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const VerdictRow &row = rows[i];
    ASSERT_EQ(row.index, i);
    ASSERT_GE(row.generation, std::max<std::uint64_t>(last, 1)) << "packet " << i;
    ASSERT_LE(row.generation, generations) << "packet " << i;
    if (last != 0 && row.generation != last && i % stretch != 0) ++mid_stretch;
    last = row.generation;
    ++judged[row.generation];
    const Judgement wanted = oracles[row.generation].judge(frames[i % stretch].bytes);
    ASSERT_EQ(row.verdict + ' ' + row.reason + (row.list.empty() ? "" : " (" + row.list + ')'),
              to_string(wanted))
        << "packet " << i << " under generation " << row.generation << ", WEIR_SEED=" << test_seed();
  }
  EXPECT_EQ(judged.size(), generations) << "each generation judged some packets";
  EXPECT_GT(mid_stretch, generations / 4) << "swaps should meet packets on their way";
  const ReplayReport report = run_.report();
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(report.swap_count, generations);
  for (const auto &[generation, count] : judged)
    EXPECT_EQ(report.generations.at(std::to_string(generation)), count);
}

// ---- memory ------------------------------------------------------------------------------------

TEST_F(Replay, of_two_million_packets_needs_no_more_memory_than_of_a_few) {
  constexpr std::uint64_t packets = 2'000'000;
  {
    Random random(test_seed());
    const RuleSet rules = one_list("0.0.0.0/1");
    std::vector<Frame> frames(100'000);
    for (Frame &frame : frames)
      frame = FrameBuilder()
                  .ethernet()
                  .ipv4({.source = to_string(random_address(random, Family::ipv4))})
                  .udp(1, 2)
                  .payload(18)
                  .frame();
    Capture capture{.frames = frames};
    for (int i = 1; i < 20; ++i) capture.frames.insert(capture.frames.end(), frames.begin(), frames.end());
    ASSERT_EQ(capture.frames.size(), packets);
    write_capture(run_ / "in.pcap", capture);
  }
  start({"--out", "/dev/null", "--denied", "/dev/null", "--gate", "50000:2", "--gate",
         std::to_string(packets - 1) + ":3"});
  pusher_->push(one_list("0.0.0.0/1"), {.generation = 1});
  ASSERT_TRUE(wait_until([&] { return pusher_->stats().written == 50'000; }, 20s)) << run_.logs();
  const long before_kib = run_.dataplane.peak_rss_kib();
  pusher_->push(one_list("0.0.0.0/1"), {.generation = 2});
  ASSERT_TRUE(wait_until([&] { return pusher_->stats().written == packets - 1; }, 60s)) << run_.logs();
  const long after_kib = run_.dataplane.peak_rss_kib();
  pusher_->push(one_list("0.0.0.0/1"), {.generation = 3});
  ASSERT_EQ(finish(), 0) << run_.logs();
  EXPECT_EQ(run_.report().packets, packets);
  EXPECT_GT(before_kib, 0);
  EXPECT_LT(after_kib - before_kib, 16 * 1024) << before_kib << " KiB before, " << after_kib << " after";
}

} // namespace
} // namespace weir::test::replay_test
