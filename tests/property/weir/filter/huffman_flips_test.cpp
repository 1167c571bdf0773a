// Robustness of Huffman maps [Chained §5.2]: a bit of the cells that is wrong disturbs symbols that read it, and no others;
// whatever cells hold, a decoder ends and stays in its section.
#include "tests/support/filter_checks.hpp"
#include "weir/build/huffman_builder.hpp"

#include <gtest/gtest.h>

namespace weir::build::huffman_flips_test {
namespace {

using Map = HuffmanMap<4>;
using View = Map::View;

// A section that may be changed, and which bits of it a decoder reads for a key.
class Flipped {
public:
  explicit Flipped(const Map &map) : lines_(map.section().size() / 64 + 1), size_(map.section().size()) {
    std::ranges::copy(map.section(), bytes().begin());
    const filter::HuffmanShape &shape = map.view().shape();
    std::uint64_t at = 8 * shape.cells_offset();
    for (const auto &first : map.view().firsts()) {
      firsts_.push_back(at);
      at += first.shape().bits();
    }
    for (const auto &second : map.view().seconds()) {
      seconds_.push_back(at);
      at += second.shape().bits();
    }
  }
  [[nodiscard]] MutableBytes bytes() { return {reinterpret_cast<std::byte *>(lines_.data()), size_}; }
  [[nodiscard]] View view() { return View::attach(bytes()).value(); }
  void flip(std::uint64_t bit) { bytes()[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8); }
  [[nodiscard]] std::uint64_t first_cell() const {
    return firsts_.empty() ? seconds_.front() : firsts_.front();
  }

  // As the walk of the builder's tree has it: all bits of the slots that are read on the way to the symbol.
  [[nodiscard]] std::vector<std::uint64_t> bits_read(const View &view, KeyHash key) const {
    std::vector<std::uint64_t> bits;
    std::uint32_t at = view.shape().root;
    while ((at & filter::huffman_leaf) == 0) {
      const filter::HuffmanNode node = view.nodes()[at];
      const KeyHash salted = filter::at_node(key, at);
      const std::uint32_t first = filter::HuffmanNode::table_of(node.zero);
      bool one = true;
      const auto take = [&](std::uint64_t base, const auto &slots, unsigned width) {
        for (const std::uint32_t slot : slots)
          for (unsigned bit = 0; bit < width; ++bit) bits.push_back(base + std::uint64_t{slot} * width + bit);
      };
      if (first != 0) {
        const auto &stage = view.firsts()[first - 1];
        take(firsts_[first - 1], stage.slots_of(salted), stage.shape().fingerprint_bits);
        one = stage.contains(salted);
      }
      if (one) {
        const auto &stage = view.seconds()[0];
        take(seconds_[0], stage.slots_of(salted), 1);
        one = stage.contains(salted);
      }
      at = filter::HuffmanNode::target_of(one ? node.one : node.zero);
    }
    return bits;
  }

private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> lines_;
  std::size_t size_;
  std::vector<std::uint64_t> firsts_, seconds_; // first bit of each table
};

TEST(HuffmanFlips, disturb_only_symbols_that_read_the_bit) {
  const std::uint64_t seed = test::seed_or(111);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::size_t disturbed = 0;
  for (const double omega : {2.2, 4.0, 12.0}) {
    constexpr std::size_t count = 2'000;
    std::geometric_distribution<std::uint32_t> law(1 - 1 / omega);
    std::vector<std::uint32_t> symbols(count);
    for (std::uint32_t &symbol : symbols) symbol = law(random);
    const Map map = Map::build_array(symbols, seed).value();
    Flipped section(map);
    const View view = section.view();
    std::vector<std::vector<std::uint64_t>> reads(count);
    for (std::size_t i = 0; i < count; ++i) reads[i] = section.bits_read(view, filter::array_key(i));
    for (int flip = 0; flip < 300; ++flip) {
      const std::uint64_t bit =
          section.first_cell() + random() % (8 * section.bytes().size() - section.first_cell());
      section.flip(bit);
      for (std::size_t i = 0; i < count; ++i) {
        if (view.value(filter::array_key(i)) == symbols[i]) continue;
        ++disturbed;
        EXPECT_TRUE(std::ranges::count(reads[i], bit) > 0) << "symbol " << i << " does not read bit " << bit;
      }
      section.flip(bit);
    }
  }
  EXPECT_GT(disturbed, 300u); // about as many slots as bits of code: each bit has readers
}

TEST(HuffmanFlips, lead_no_decoder_astray_wherever_they_are) {
  const std::uint64_t seed = test::seed_or(112);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> symbols(2'000);
  for (std::uint32_t &symbol : symbols) symbol = static_cast<std::uint32_t>(std::countr_zero(random()));
  const Map map = Map::build_array(symbols, seed).value();
  for (int round = 0; round < 300; ++round) {
    Flipped section(map);
    const View view = section.view(); // attached before nodes and cells come to hold anything
    for (int i = 0; i < 100; ++i) section.flip(8 * 64 + random() % (8 * (section.bytes().size() - 64)));
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_LE(view.value(filter::array_key(i)), filter::huffman_symbol_max);
    (void)View::attach(section.bytes()); // refused or harmless
  }
}

} // namespace
} // namespace weir::build::huffman_flips_test
