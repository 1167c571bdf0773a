// Huffman maps: the symbol of every key, whatever the counts, tables and seed; as many bits as the model says; and a
// section that is attached as it was, or refused.
#include "tests/support/filter_checks.hpp"
#include "weir/build/huffman_builder.hpp"
#include "weir/filter/huffman_map.hpp"

#include <gtest/gtest.h>

namespace weir::build::huffman_map_test {
namespace {

using test::absent_keys;
using test::random_keys;

template <class M> class HuffmanMaps : public ::testing::Test {};
using Both = ::testing::Types<HuffmanMap<3, 64, 64>, HuffmanMap<4, 64, 64>>;
TYPED_TEST_SUITE(HuffmanMaps, Both);

constexpr std::array every_choice{HuffmanTables::by_fingerprint, HuffmanTables::one_for_all,
                                  HuffmanTables::one_a_node, HuffmanTables::exact_alone};

std::vector<std::uint32_t> drawn(std::size_t count, double omega, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::geometric_distribution<std::uint32_t> law(1 - 1 / omega);
  std::vector<std::uint32_t> symbols(count);
  for (std::uint32_t &symbol : symbols) symbol = 5 * law(random);
  return symbols;
}

template <class M>
std::size_t wrong(const M &map, std::span<const KeyHash> keys, std::span<const std::uint32_t> symbols) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) count += map.value(keys[i]) != symbols[i];
  return count;
}

TYPED_TEST(HuffmanMaps, have_the_symbol_of_every_key) {
  const std::uint64_t seed = test::seed_or(101);
  WEIR_TRACE_SEED(seed);
  for (const HuffmanTables tables : every_choice)
    for (const double omega : {1.2, 2.0, 3.0, 10.0, 1000.0})
      for (const std::size_t count : {1u, 2u, 40u, 1'000u, 20'000u}) {
        const std::vector<KeyHash> keys = random_keys(count, seed);
        const std::vector<std::uint32_t> symbols = drawn(count, omega, seed);
        const auto map = TypeParam::build(keys, symbols, seed, tables);
        ASSERT_TRUE(map) << map.error().message;
        EXPECT_EQ(wrong(*map, keys, symbols), 0u) << count << " keys, omega " << omega;
      }
}

TYPED_TEST(HuffmanMaps, have_no_nodes_for_one_symbol_and_take_nobody) {
  const std::vector<KeyHash> keys = random_keys(1'000, 1);
  const auto map = TypeParam::build(keys, std::vector<std::uint32_t>(1'000, 77));
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->bits(), 0u);
  EXPECT_EQ(map->value(keys[3]), 77u);
  const auto empty = TypeParam::build({}, {});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->value(keys[3]), 0u);
}

TYPED_TEST(HuffmanMaps, answer_batches_like_single_questions) {
  for (const std::size_t count : {std::size_t{5'000}, std::size_t{4'000'000}}) { // in cache, and not
    const std::vector<KeyHash> keys = random_keys(count, 3);
    const auto map = TypeParam::build(keys, drawn(count, 2.5, 4));
    ASSERT_TRUE(map) << map.error().message;
    std::vector<KeyHash> asked = absent_keys(200, 4);
    asked.insert(asked.end(), keys.begin(), keys.begin() + 200);
    std::array<std::uint32_t, filter::batch_max> values;
    for (std::size_t size = 0; size <= filter::batch_max; ++size)
      for (const std::size_t from : {0u, 300u}) {
        map->view().values(std::span(asked).subspan(from, size), values.data());
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(values[i], map->value(asked[from + i])) << size;
      }
  }
}

TYPED_TEST(HuffmanMaps, take_the_bits_that_the_model_says) {
  const std::vector<std::uint32_t> symbols = drawn(300'000, 5, 6);
  for (const HuffmanTables tables : every_choice) {
    const auto map = TypeParam::build_array(symbols, 1, tables);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_NEAR(static_cast<double>(map->bits()) / map->plan().bits, 1, 0.005);
    EXPECT_EQ(map->value(filter::array_key(17)), symbols[17]);
  }
}

TYPED_TEST(HuffmanMaps, take_a_key_twice_with_one_symbol_and_refuse_it_with_two_by_name) {
  std::vector<KeyHash> keys = random_keys(2'000, 7);
  std::vector<std::uint32_t> symbols = drawn(2'000, 4, 8);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 300);
  symbols.insert(symbols.end(), symbols.begin(), symbols.begin() + 300);
  const auto map = TypeParam::build(keys, symbols);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(wrong(*map, keys, symbols), 0u);
  keys.push_back(keys[5]);
  symbols.push_back(symbols[5] + 5);
  const auto two = TypeParam::build(keys, symbols);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, Errc::usage);
  EXPECT_NE(two.error().message.find(fmt::format("key {:016x} has two symbols, {} and {}", keys[5].bits,
                                                 symbols[5], symbols[5] + 5)),
            std::string::npos)
      << two.error().message;
}

TYPED_TEST(HuffmanMaps, refuse_what_they_have_no_room_for) {
  const auto says = [](const auto &built, const char *what) {
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().code, Errc::usage);
    EXPECT_NE(built.error().message.find(what), std::string::npos) << built.error().message;
  };
  const std::vector<KeyHash> keys = random_keys(200, 9);
  std::vector<std::uint32_t> symbols(200);
  says(TypeParam::build(keys, std::span(symbols).first(199)), "not as many keys as symbols");
  for (std::uint32_t i = 0; i < 200; ++i) symbols[i] = i;
  says(TypeParam::build(keys, symbols, 0, HuffmanTables::one_a_node), "too many");
  symbols[0] = filter::huffman_symbol_max + 1;
  says(TypeParam::build(keys, symbols), "is greater than");
}

// ---- sections ------------------------------------------------------------------------------------------

class HuffmanSections : public ::testing::Test {
protected:
  using Map = HuffmanMap<4>;
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  HuffmanSections() : symbols_(drawn(3'000, 4, 2)), map_(Map::build_array(symbols_, 3).value()) {
    lines_.resize(map_.section().size() / 64 + 2);
    bytes_ = {reinterpret_cast<std::byte *>(lines_.data()), map_.section().size()};
    restore();
  }
  void restore() { std::ranges::copy(map_.section(), bytes_.begin()); }
  template <class T> void set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void expect_refused(const char *why, std::size_t bytes) {
    const auto view = Map::View::attach(Bytes(bytes_).first(bytes));
    ASSERT_FALSE(view) << why;
    EXPECT_EQ(view.error().code, Errc::bad_image);
    EXPECT_NE(view.error().message.find(why), std::string::npos) << view.error().message;
    restore();
  }
  void expect_refused(const char *why) { expect_refused(why, bytes_.size()); }

  std::vector<std::uint32_t> symbols_;
  Map map_;
  std::vector<Line> lines_;
  MutableBytes bytes_;
};

TEST_F(HuffmanSections, attach_and_answer_alike) {
  const auto view = Map::View::attach(bytes_);
  ASSERT_TRUE(view) << view.error().message;
  for (std::size_t i = 0; i < symbols_.size(); ++i) ASSERT_EQ(view->value(filter::array_key(i)), symbols_[i]);
  EXPECT_EQ(view->bytes(), bytes_.size());
}

TEST_F(HuffmanSections, are_refused_when_cut_or_of_another_kind) {
  expect_refused("no room for its header", 63);
  expect_refused("no room for its nodes", 70);
  expect_refused("ends beyond the section", bytes_.size() - 8);
  set<std::uint32_t>(8, static_cast<std::uint32_t>(filter::FilterKind::retrieval_4));
  expect_refused("holds a four-wise retrieval");
  set<std::uint32_t>(24, 3);
  expect_refused("not 4-wise");
  set<std::uint32_t>(20, 17 | 1 << 16);
  expect_refused("more tables than this reader takes");
  const auto longer = Map::View::attach({bytes_.data(), bytes_.size() + 8});
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("goes on after"), std::string::npos) << longer.error().message;
}

TEST_F(HuffmanSections, are_refused_when_nodes_or_tables_lead_nowhere) {
  const filter::HuffmanShape shape = map_.view().shape();
  ASSERT_GT(shape.nodes, 2u);
  set<std::uint32_t>(28, 1);
  expect_refused("root");
  set<std::uint32_t>(64 + 8, 0); // node 1, child 0: back to the root
  expect_refused("leads back");
  set<std::uint32_t>(64, shape.nodes);
  expect_refused("leads back or nowhere");
  set<std::uint32_t>(64, 9u << filter::huffman_target_bits | filter::huffman_leaf);
  expect_refused("a table that is not there");
  const auto table = static_cast<std::size_t>(shape.tables_offset());
  set<std::uint32_t>(table + 4, 19); // segments of 2^19 slots
  expect_refused("segments");
  set<std::uint32_t>(table + 8, 17);
  expect_refused("1 to 16 bits");
  set<std::uint32_t>(table + 12, 1);
  expect_refused("reserved");
}

} // namespace
} // namespace weir::build::huffman_map_test
