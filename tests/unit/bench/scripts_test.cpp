// The scripts between a benchmark's output and a figure or a page.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

namespace weir::test::scripts_test {
namespace {

std::string script(const char *path) { return (source_tree() / path).string(); }

TEST(BenchScripts, tables_replace_what_stands_between_their_marks_and_nothing_else) {
  const TempDir folder;
  write_text(folder / "page.md", "before\n<!-- bench:swap -->\nold\n<!-- /bench:swap -->\nafter\n");
  write_text(folder / "swap.md", "| new |\n");
  const Outcome outcome =
      run({script("tests/bench/paste.py"), (folder / "page.md").string(), folder.path().string()});
  ASSERT_TRUE(outcome.ok()) << outcome.err;
  EXPECT_EQ(read_text(folder / "page.md"),
            "before\n<!-- bench:swap -->\n| new |\n<!-- /bench:swap -->\nafter\n");
}

TEST(BenchScripts, a_table_that_the_last_run_did_not_write_stays_and_is_named) {
  const TempDir folder;
  const std::string page = "<!-- bench:swap -->\nold\n<!-- /bench:swap -->\n";
  write_text(folder / "page.md", page);
  const Outcome outcome =
      run({script("tests/bench/paste.py"), (folder / "page.md").string(), folder.path().string()});
  ASSERT_TRUE(outcome.ok()) << outcome.err;
  EXPECT_EQ(read_text(folder / "page.md"), page);
  EXPECT_NE(outcome.out.find("left as they were: swap"), std::string::npos) << outcome.out;
}

TEST(BenchScripts, json_lines_become_columns_with_a_dash_for_what_was_not_measured) {
  const TempDir folder;
  write_text(folder / "lookup.jsonl", R"({"contender":"a b","keys":10,"hit_percent":1,"ns":5.5}
{"contender":"LIMIT","keys":10,"hit_percent":1,"ns":2}
{"contender":"a b","keys":100,"hit_percent":1,"ns":7}
{"contender":"a b","keys":100,"hit_percent":100,"ns":99}
)");
  const Outcome outcome = run({script("tests/figures/columns.py"), (folder / "lookup.jsonl").string(), "keys",
                               "ns", "hit_percent=1"});
  ASSERT_TRUE(outcome.ok()) << outcome.err;
  EXPECT_EQ(outcome.out, "keys \"a b\" \"LIMIT\"\n10 5.5 2\n100 7 -\n");
}

TEST(BenchScripts, columns_without_a_line_are_a_fault_and_no_empty_picture) {
  const TempDir folder;
  write_text(folder / "lookup.jsonl", "{\"contender\":\"a\",\"keys\":10,\"hit_percent\":1,\"ns\":5}\n");
  const Outcome outcome = run({script("tests/figures/columns.py"), (folder / "lookup.jsonl").string(), "keys",
                               "ns", "hit_percent=50"});
  EXPECT_EQ(outcome.code, 1);
}

} // namespace
} // namespace weir::test::scripts_test
