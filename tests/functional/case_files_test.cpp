// The cases themselves: what they expect is what the oracle says. Needs no process, so a slip of the
// pen in a case is told apart from a fault of the programs.
#include "tests/support/case_file.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

namespace weir::test::case_files_test {
namespace {

void check_step(const Case &c, std::size_t index) {
  const CaseStep &step = c.steps[index];
  const Oracle oracle = c.oracle(index);
  std::map<std::string, std::uint64_t> counts, reasons, lists;
  for (const Frame &frame : step.frames) {
    const Judgement judged = oracle.judge(frame.bytes);
    const std::string where =
        c.folder.filename().string() + ":" + std::to_string(step.line) + ": " + to_string(judged);
    EXPECT_EQ(name_of(judged.verdict), step.expect.verdict.value_or(std::string(name_of(judged.verdict))))
        << where;
    EXPECT_EQ(name_of(judged.reason), step.expect.reason.value_or(std::string(name_of(judged.reason))))
        << where;
    EXPECT_EQ(judged.list, step.expect.list.value_or(judged.list)) << where;
    ++counts["packets"];
    ++counts[std::string(name_of(judged.verdict))];
    ++reasons[std::string(name_of(judged.reason))];
    ++lists[judged.list];
  }
  for (const auto &[what, count] : step.expect.counts) EXPECT_EQ(counts[what], count) << what;
  for (const auto &[what, count] : step.expect.reasons) EXPECT_EQ(reasons[what], count) << what;
  for (const auto &[what, count] : step.expect.lists) EXPECT_EQ(lists[what], count) << what;
}

TEST(CaseFiles, expect_what_the_oracle_says) {
  for (const auto &file : find_cases()) {
    const Case c = load_case(file);
    SCOPED_TRACE(file.string());
    for (std::size_t i = 0; i < c.steps.size(); ++i)
      if (c.steps[i].kind == CaseStep::Kind::send) check_step(c, i);
    EXPECT_NE(c.steps.empty(), c.refused.empty()) << "a case has steps or is refused";
  }
}

TEST(CaseFiles, cover_every_reason_that_replay_can_give) {
  std::map<std::string, unsigned> seen;
  for (const auto &file : find_cases()) {
    const Case c = load_case(file);
    for (const CaseStep &step : c.steps)
      if (step.expect.reason && step.expect.verdict) ++seen[*step.expect.verdict + ' ' + *step.expect.reason];
  }
  for (const char *outcome : {"pass malformed", "drop malformed", "pass non_ip", "drop non_ip",
                              "pass too_many_tags", "drop too_many_tags", "pass link_local",
                              "drop link_local", "pass allow", "drop deny", "pass default", "drop default"})
    EXPECT_GT(seen[outcome], 0u) << "no case expects " << outcome;
}

TEST(CaseFiles, a_key_that_nobody_knows_is_named_with_its_line) {
  const TempDir dir;
  write_text(dir / "case.yaml", "name: x\nsteps:\n- send: {ip: {src: 10.0.0.1, dst: 10.0.0.2, tll: 3}}\n");
  try {
    (void)load_case(dir / "case.yaml");
    FAIL() << "it was accepted";
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what()).find("case.yaml:3: unknown key tll"), std::string::npos)
        << error.what();
  }
}

} // namespace
} // namespace weir::test::case_files_test
