// weir-lab huffman: every symbol is decoded, and bits are what the paper's setting, the model and the corrected theorem say.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace weir::test::weir_lab_huffman_test {
namespace {

using Json = nlohmann::json;

Json huffman(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "huffman", "--rounds", "1"});
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

void expect_all_decoded(const Json &json) {
  EXPECT_EQ(json.at("decode_errors"), 0);
  for (const char *arm : {"one_for_all", "one_a_node", "shared_slots", "ribbon", "strawman"}) {
    EXPECT_EQ(json.at(arm).at("decode_errors"), 0) << arm;
    EXPECT_GT(json.at(arm).at("decode_ns"), 0) << arm;
    EXPECT_GT(json.at(arm).at("build_ns"), 0) << arm;
  }
  EXPECT_GT(json.at("decode_batch_ns"), 0);
  EXPECT_GT(json.at("sequential_ns"), 0);
}

double over_entropy(const Json &json) {
  return json.at("bits_per_symbol").get<double>() - json.at("entropy").get<double>();
}

// Bumped ribbon tables waste less than fuse tables, and their bits are known beforehand.
void expect_ribbon_below(const Json &json, double over_entropy_max) {
  const Json &ribbon = json.at("ribbon");
  EXPECT_LE(ribbon.at("over_entropy"), over_entropy_max);
  EXPECT_GT(ribbon.at("over_entropy"), 0);
  EXPECT_NEAR(ribbon.at("bits_per_symbol").get<double>() /
                  ribbon.at("predicted_bits_per_symbol").get<double>(),
              1, 0.002);
  EXPECT_LT(ribbon.at("bits_per_symbol"), json.at("bits_per_symbol"));
}

// [Chained §5.2.3] at its two ends, with a million positives at omega 3, which are two million symbols.
TEST(WeirLabHuffman, keeps_to_the_bits_that_were_set_out) {
  const Json three = huffman({"--omega", "3"});
  expect_all_decoded(three);
  EXPECT_NEAR(three.at("entropy"), 1.377, 0.003);
  EXPECT_NEAR(three.at("huffman_bits_per_symbol"), 1.5, 0.003);
  EXPECT_LE(over_entropy(three), 0.24);
  EXPECT_GT(over_entropy(three), 0.22) << "Theorem 5.1 as printed";
  EXPECT_LE(over_entropy(three), three.at("over_entropy_bound").get<double>() + 0.002);
  EXPECT_NEAR(three.at("bits_per_symbol").get<double>() / three.at("predicted_bits_per_symbol").get<double>(),
              1, 0.005);
  expect_ribbon_below(three, 0.16);

  const Json ten = huffman({"--omega", "10", "--positives", "600000"});
  expect_all_decoded(ten);
  EXPECT_LE(over_entropy(ten), 0.1);
  EXPECT_GE(ten.at("saved"), 0.483);
  EXPECT_GE(ten.at("shared_slots").at("saved"), 0.392);
  EXPECT_LE(ten.at("bits_per_symbol"), ten.at("one_a_node").at("bits_per_symbol"));
  expect_ribbon_below(ten, 0.07);
}

// Lists as an operator has them.
TEST(WeirLabHuffman, has_the_lists_of_two_million_addresses_in_three_quarters_of_a_bit_each) {
  const Json json = huffman({"--counts", "1800000,200000,50000,1000"});
  expect_all_decoded(json);
  EXPECT_NEAR(json.at("entropy"), 0.6287, 0.001);
  EXPECT_LE(over_entropy(json), 0.13);
  EXPECT_LE(json.at("one_for_all").at("over_entropy"), 0.13);
  EXPECT_NEAR(json.at("strawman").at("over_entropy"), 0.61, 0.01);
}

// Countries are so many and so even that the exact filter alone is as small: the model gives next to no first stages.
TEST(WeirLabHuffman, gains_nothing_where_no_symbol_is_frequent) {
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "countries";
  {
    std::ofstream out(file);
    out << "# ranges\n";
    for (unsigned i = 0; i < 100'000; ++i)
      out << i << ',' << i << ',' << static_cast<char>('A' + i * i % 26) << static_cast<char>('A' + i % 17)
          << '\n';
  }
  const Json json = huffman({"--countries", file.string()});
  expect_all_decoded(json);
  EXPECT_GT(json.at("distinct"), 100);
  EXPECT_LT(json.at("saved"), 0.01);
  EXPECT_LE(json.at("bits_per_symbol"), json.at("strawman").at("bits_per_symbol"));
  expect_ribbon_below(json, 0.45);
}

TEST(WeirLabHuffman, refuses_what_it_cannot_do) {
  EXPECT_EQ(run({program("weir-lab").string(), "huffman", "--omega", "1"}).code, 2);
  const Outcome outcome = run({program("weir-lab").string(), "huffman", "--countries", "/no/such/file"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("make deps-bench"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace weir::test::weir_lab_huffman_test
