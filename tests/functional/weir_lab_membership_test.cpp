// weir-lab membership: the curves of exact and general membership, and what construction takes.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_membership_test {
namespace {

using Json = nlohmann::json;

TEST(WeirLabMembership, has_figure_4_and_table_2) {
  const Outcome outcome =
      run({program("weir-lab").string(), "membership", "--positives", "20000", "--rates", "0,0.01"});
  ASSERT_TRUE(outcome.ok()) << outcome.err;
  const Json json = Json::parse(outcome.out, nullptr, false);
  std::size_t built = 0;
  for (const Json &point : json.at("figure_4")) {
    EXPECT_GE(point.at("chained"), point.at("lower_bound")) << point;
    EXPECT_LE(point.at("chained"), point.at("single").get<double>() + 0.5) << point; // whole bits
    if (point.at("built_accepted").is_null()) continue;
    ++built;
    const double rate = point.at("rate");
    EXPECT_NEAR(point.at("built_accepted"), rate, 0.15 * rate) << point;
    EXPECT_GT(point.at("built_bits_per_positive"), point.at("chained")) << point;
  }
  EXPECT_EQ(built, 10u);
  const Json &rows = json.at("table_2");
  ASSERT_EQ(rows.size(), 8u);
  for (const Json &row : rows) {
    EXPECT_EQ(row.at("errors"), 0) << row;
    EXPECT_GT(row.at("build_ns_per_key"), 0) << row;
  }
  // [Chained Table 2]: the second stage is built of a few keys, the exact filter of the whole universe.
  ASSERT_EQ(rows[0].at("filter"), "&");
  ASSERT_EQ(rows[1].at("filter"), "exact Bloomier");
  EXPECT_LT(rows[0].at("peak_bits_per_key").get<double>() * 2, rows[1].at("peak_bits_per_key").get<double>());
}

TEST(WeirLabMembership, refuses_what_it_cannot_do) {
  const Outcome outcome = run({program("weir-lab").string(), "membership", "--rates", "0.7"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--rates"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace weir::test::weir_lab_membership_test
