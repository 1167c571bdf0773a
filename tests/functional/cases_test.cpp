// Runs every pcaps/<name>/case.yaml through the real programs and asks the oracle about each packet.
//
// All packets of a case make one capture. Packets after the n-th replacement are held at a gate until
// generation n + 1 is live, and a replacement waits until everything before it is judged; so each
// packet has one generation that must have judged it.
#include "p4/export/text_sink.hpp"
#include "tests/p4/acl.hpp"
#include "tests/support/case_file.hpp"
#include "tests/support/replay_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace weir::test::cases_test {
namespace {

// Who judges, and from which images.
enum class Engine : std::uint8_t { stages, stages_on_jhash, p4 };

class CaseRun {
public:
  explicit CaseRun(const Case &c, Engine engine = Engine::stages) : case_(c), engine_(engine) {}

  void run();

private:
  struct Phase { // packets of one step
    std::size_t step = 0;
    std::uint64_t first = 0, end = 0; // indexes
    std::uint64_t generation = 1;
  };

  void plan();
  void write_inputs();
  void replace_lists();
  void check_phase(const Phase &phase, const std::vector<VerdictRow> &rows);
  void check_files(const std::vector<VerdictRow> &rows);
  void check_counters(const CaseStep &step);
  [[nodiscard]] std::string at(const CaseStep &step) const {
    return (case_.folder / "case.yaml").string() + ":" + std::to_string(step.line);
  }

  const Case &case_;
  Engine engine_;
  std::vector<Frame> frames_;
  std::vector<Phase> phases_;
  std::vector<std::string> gates_;
  ReplayRun run_;
};

void CaseRun::plan() {
  frames_ = case_.frames();
  std::uint64_t index = 0, generation = 1;
  for (std::size_t i = 0; i < case_.steps.size(); ++i) {
    const CaseStep &step = case_.steps[i];
    if (step.kind == CaseStep::Kind::send) {
      phases_.push_back({i, index, index + step.frames.size(), generation});
      index += step.frames.size();
    }
    if (step.kind == CaseStep::Kind::replace) {
      generation += step.replace.size();
      gates_.insert(gates_.end(), {"--gate", std::to_string(index) + ":" + std::to_string(generation)});
    }
  }
}

void CaseRun::write_inputs() {
  write_text(run_ / "weir.yaml", case_.weir_yaml());
  for (const CaseList &list : case_.lists) write_text(run_ / (list.name + ".txt"), case_.list_text(list));
  write_capture(run_ / "in.pcap", {.frames = frames_});
}

std::string plain_list(const std::string &name, const std::vector<std::string> &entries) {
  std::string text = "# " + name + '\n';
  for (const std::string &entry : entries) text += entry + '\n';
  return text;
}

// Does what the replace steps say, each when the packets before it are through.
void CaseRun::replace_lists() {
  std::uint64_t sent = 0, generation = 1;
  for (const CaseStep &step : case_.steps) {
    sent += step.frames.size();
    if (step.kind != CaseStep::Kind::replace) continue;
    ASSERT_TRUE(run_.wait_for_judged(sent)) << at(step) << ": the packets before it were not judged\n"
                                            << run_.logs();
    for (const auto &[list, entries] : step.replace) {
      const std::string file = list + ".new.txt";
      write_text(run_ / file, plain_list(list, entries));
      const ControlAnswer answer = run_.replace_list(list, run_ / file);
      ASSERT_TRUE(answer.ok) << at(step) << ": " << answer.text << run_.logs();
      ASSERT_EQ(answer.generation, ++generation) << at(step) << ": " << answer.text;
    }
  }
}

void CaseRun::check_phase(const Phase &phase, const std::vector<VerdictRow> &rows) {
  const CaseStep &step = case_.steps[phase.step];
  const Oracle oracle = case_.oracle(phase.step);
  std::map<std::string, std::uint64_t> counts{{"packets", 0}, {"pass", 0}, {"drop", 0}}, reasons, lists;
  for (std::uint64_t i = phase.first; i < phase.end; ++i) {
    const VerdictRow &row = rows[i];
    const Judgement wanted = oracle.judge(frames_[i].bytes);
    const std::string where = at(step) + ": packet " + std::to_string(i - phase.first);
    ASSERT_EQ(row.verdict + ' ' + row.reason + (row.list.empty() ? "" : " (" + row.list + ')'),
              to_string(wanted))
        << where << " (the oracle says the second)";
    EXPECT_EQ(row.generation, phase.generation) << where;
    EXPECT_EQ(row.verdict, step.expect.verdict.value_or(row.verdict)) << where;
    EXPECT_EQ(row.reason, step.expect.reason.value_or(row.reason)) << where;
    EXPECT_EQ(row.list, step.expect.list.value_or(row.list)) << where;
    ++counts["packets"];
    ++counts[row.verdict];
    ++reasons[row.reason];
    if (!row.list.empty()) ++lists[row.list];
  }
  for (const auto &[what, count] : step.expect.counts)
    EXPECT_EQ(counts[what], count) << at(step) << ": " << what;
  for (const auto &[what, count] : step.expect.reasons)
    EXPECT_EQ(reasons[what], count) << at(step) << ": " << what;
  for (const auto &[what, count] : step.expect.lists)
    EXPECT_EQ(lists[what], count) << at(step) << ": " << what;
}

// Both files together are the capture, packet by packet.
void CaseRun::check_files(const std::vector<VerdictRow> &rows) {
  const Capture passed = read_capture(run_ / "pass.pcap"), denied = read_capture(run_ / "denied.pcap");
  ASSERT_EQ(passed.frames.size() + denied.frames.size(), rows.size());
  std::size_t next_passed = 0, next_denied = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool pass = rows[i].verdict == "pass";
    ASSERT_LT(pass ? next_passed : next_denied, (pass ? passed : denied).frames.size());
    const Frame &frame = pass ? passed.frames[next_passed++] : denied.frames[next_denied++];
    ASSERT_TRUE(frame == frames_[i % frames_.size()]) << "packet " << i << " came out changed";
  }
}

void CaseRun::check_counters(const CaseStep &step) {
  const ReplayReport report = run_.report();
  std::map<std::string, std::uint64_t> reasons = report.reasons_pass;
  for (const auto &[name, count] : report.reasons_drop) reasons[name] += count;
  const std::map<std::string, std::uint64_t> totals{
      {"packets", report.packets}, {"pass", report.pass}, {"drop", report.drop}};
  for (const auto &[what, count] : step.expect.counts)
    EXPECT_EQ(totals.at(what), count) << at(step) << ": " << what;
  for (const auto &[what, count] : step.expect.reasons)
    EXPECT_EQ(reasons[what], count) << at(step) << ": " << what;
  auto lists = report.lists;
  for (const auto &[what, count] : step.expect.lists)
    EXPECT_EQ(lists[what], count) << at(step) << ": " << what;
  EXPECT_EQ(report.lost, step.expect.lost.value_or(0)) << at(step);
}

void CaseRun::run() {
  plan();
  write_inputs();
  std::vector<std::string> options = gates_;
  if (case_.loop > 1) options.insert(options.end(), {"--loop", std::to_string(case_.loop)});
  if (engine_ == Engine::p4) options.insert(options.end(), {"--target", "p4"});
  run_.images_for_p4 = engine_ != Engine::stages;
  run_.start(options);
  ASSERT_NO_FATAL_FAILURE(replace_lists());
  ASSERT_EQ(run_.finish(), 0) << run_.logs();

  const std::vector<VerdictRow> rows = run_.verdicts();
  ASSERT_EQ(rows.size(), frames_.size() * case_.loop);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].index, i);
  for (const Phase &phase : phases_) ASSERT_NO_FATAL_FAILURE(check_phase(phase, rows));
  ASSERT_NO_FATAL_FAILURE(check_files(rows));

  const ReplayReport report = run_.report();
  EXPECT_EQ(report.packets, rows.size());
  EXPECT_EQ(report.pass + report.drop, rows.size());
  EXPECT_EQ(report.lost, 0u);
  for (const CaseStep &step : case_.steps)
    if (step.kind == CaseStep::Kind::counters) check_counters(step);
}

// What `weirctl replay` says of a case that must not be accepted.
std::string said_of_refused(const Case &c, const std::vector<std::string> &options = {}) {
  const TempDir dir;
  write_text(dir / "weir.yaml", c.weir_yaml());
  for (const CaseList &list : c.lists) write_text(dir / (list.name + ".txt"), c.list_text(list));
  write_capture(dir / "in.pcap", {.frames = {FrameBuilder().ethernet().ipv4().udp(1, 2).frame()}});
  std::vector<std::string> command{program("weirctl"), "replay", "in.pcap",  "--config",
                                   "weir.yaml",        "--out",  "pass.pcap"};
  command.insert(command.end(), options.begin(), options.end());
  Child weirctl({command, dir / "out.log", dir / "err.log", dir.path()});
  const auto code = weirctl.wait(std::chrono::seconds(30));
  std::string said = read_text(dir / "out.log") + read_text(dir / "err.log");
  EXPECT_TRUE(code) << "weirctl replay does not end\n" << said;
  EXPECT_EQ(code.value_or(1), 1) << said;
  return said;
}

void expect_refusal(const Case &c) {
  const std::string said = said_of_refused(c);
  for (const std::string &text : c.refused)
    EXPECT_NE(said.find(text), std::string::npos) << "expected: " << text << "\nsaid: " << said;
}

class Cases : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Cases, behaves_as_written) {
  const Case c = load_case(GetParam());
  SCOPED_TRACE(c.name);
  c.refused.empty() ? CaseRun(c).run() : expect_refusal(c);
}

std::string name_of_case(const testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.parent_path().filename();
  std::ranges::replace_if(name, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Pcaps, Cases, testing::ValuesIn(find_cases()), name_of_case);

// ---- the same on the P4 target ----------------------------------------------------------------------

// What the program cannot do, and what weir says then.
const std::map<std::string, std::string> beyond_p4{{"every-length-v6", "IPv6 prefixes of 128 lengths"},
                                                   {"match-either", "either"},
                                                   {"tunnels-both", "policy.tunnels"},
                                                   {"tunnels-inner", "policy.tunnels"}};

class CasesForP4 : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CasesForP4, are_judged_alike_by_the_stages_and_by_the_program) {
  const Case c = load_case(GetParam());
  SCOPED_TRACE(c.name);
  {
    SCOPED_TRACE("the stages, on images of family jhash");
    CaseRun(c, Engine::stages_on_jhash).run();
  }
  SCOPED_TRACE("the P4 program");
  CaseRun(c, Engine::p4).run();
}

// The source of the program with the registers that weirctl writes for the case, up to the first list that is
// replaced.
TEST_P(CasesForP4, are_judged_alike_by_the_source_from_registers_as_text) {
  const Case c = load_case(GetParam());
  SCOPED_TRACE(c.name);
  const TempDir dir;
  write_text(dir / "weir.yaml", c.weir_yaml());
  for (const CaseList &list : c.lists) write_text(dir / (list.name + ".txt"), c.list_text(list));
  Child weirctl({{program("weirctl"), "registers", "weir.yaml", "--out", "registers.txt"},
                 dir / "out.log",
                 dir / "err.log",
                 dir.path()});
  ASSERT_EQ(weirctl.wait(std::chrono::seconds(30)), 0) << read_text(dir / "err.log");
  const auto text = p4::read_text(read_text(dir / "registers.txt"));
  ASSERT_TRUE(text) << text.error().message;
  auto source = P4Acl::load();
  ASSERT_TRUE(source) << source.error().message;
  for (const p4::ArrayInfo &info : p4::arrays) {
    const std::vector<std::uint64_t> &elements = text->registers.of(info.array);
    ASSERT_TRUE(source->enlarge(info.name, elements.size()));
    ASSERT_TRUE(source->write(info.name, 0, elements));
  }
  for (std::size_t i = 0; i < c.steps.size() && c.steps[i].kind != CaseStep::Kind::replace; ++i) {
    const Oracle oracle = c.oracle(i);
    for (const Frame &frame : c.steps[i].frames) {
      const auto answer = source->judge(frame.bytes);
      ASSERT_TRUE(answer) << answer.error().message;
      const Judgement wanted = oracle.judge(frame.bytes);
      EXPECT_EQ(name_of(answer->verdict), name_of(wanted.verdict)) << to_string(wanted);
      EXPECT_EQ(name_of(answer->reason), name_of(wanted.reason)) << to_string(wanted);
    }
  }
}

std::vector<std::filesystem::path> cases_for_p4() {
  std::vector<std::filesystem::path> files = find_cases();
  std::erase_if(files, [](const std::filesystem::path &file) {
    return !load_case(file).refused.empty() || beyond_p4.contains(file.parent_path().filename());
  });
  return files;
}
INSTANTIATE_TEST_SUITE_P(Pcaps, CasesForP4, testing::ValuesIn(cases_for_p4()), name_of_case);

TEST(CasesForP4, leave_out_what_the_program_refuses_and_nothing_else) {
  unsigned refused = 0;
  for (const auto &file : find_cases()) {
    const auto beyond = beyond_p4.find(file.parent_path().filename());
    if (beyond == beyond_p4.end()) continue;
    const Case c = load_case(file);
    SCOPED_TRACE(c.name);
    const std::string said = said_of_refused(c, {"--target", "p4"});
    EXPECT_NE(said.find(beyond->second), std::string::npos) << said;
    ++refused;
  }
  EXPECT_EQ(refused, beyond_p4.size());
}

} // namespace
} // namespace weir::test::cases_test
