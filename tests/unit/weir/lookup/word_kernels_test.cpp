// The kernels of lines of words: every set that this processor can run against the portable one, bit for bit.
#include "tests/support/seed.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

namespace weir::word_kernels_test {
namespace {

using lookup::Kernels, table::WordLine, table::WordTableView;

constexpr unsigned room = 64;
using Words = std::array<std::uint32_t, room>;

class WordKernels : public testing::TestWithParam<const Kernels *> {
protected:
  const lookup::WordKernels &kernels = *GetParam()->words, &portable = *lookup::portable_kernels.words;
  const std::uint64_t seed = test::seed_or(73);
  std::mt19937_64 random{seed};
  [[nodiscard]] std::uint32_t some() { return static_cast<std::uint32_t>(random()); }
};

TEST_P(WordKernels, lines_and_first_words_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  const WordLine anchor{}; // where lines begin
  for (const std::uint32_t lines :
       {4u, 5u, 16u, 1000u, 4095u, 4096u, 909'091u, 1u << 28, WordTableView::lines_most})
    for (unsigned count = 0; count <= room; ++count) {
      const WordTableView table(&anchor, lines, random());
      Words wires, here{}, there{};
      std::array<const void *, room> lines_here{}, lines_there{};
      for (std::uint32_t &wire : wires) wire = some();
      wires[0] = 0;
      wires[1] = ~0u;
      kernels.aim(table, wires.data(), count, lines_here.data(), here.data());
      portable.aim(table, wires.data(), count, lines_there.data(), there.data());
      for (unsigned i = 0; i < count; ++i) {
        ASSERT_EQ(lines_here[i], lines_there[i]) << lines << " lines, " << i << " of " << count;
        ASSERT_EQ(here[i], there[i]) << lines << " lines, " << i << " of " << count;
      }
    }
}

// Lines of few addresses, so that hits, group bits in empty slots and addresses that stand twice occur often.
TEST_P(WordKernels, words_groups_values_and_what_goes_on_are_the_portable_ones) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint32_t count_of_lines : {16u, 300u, 70'000u, 1u << 20}) {
    const auto lines = std::make_unique<WordLine[]>(room);
    const WordTableView table(lines.get(), count_of_lines, seed);
    for (unsigned round = 0; round < 500; ++round) {
      const unsigned count = round % (room + 1);
      Words first;
      std::array<const WordLine *, room> at;
      for (unsigned i = 0; i < room; ++i) {
        first[i] = (some() & ~table.below_rest()) | 2;
        at[i] = &lines[i];
        for (std::uint32_t &word : lines[i].word) {
          word =
              random() % 12 == 0 ? (first[i] & ~table.below_rest()) | (some() & table.below_rest()) : some();
          if (random() % 3 == 0) word &= ~table.list_bits();
        }
      }
      struct Read {
        Words values{}, groups{};
        std::uint64_t open = 0;
      } here, there;
      const auto read = [&](const lookup::WordKernels &by, Read &out) {
        by.probe({.lines = at.data(),
                  .first_words = first.data(),
                  .count = count,
                  .words_a_key = table.words_a_key(),
                  .behind = reinterpret_cast<const void *const *>(at.data()),
                  .behind_count = count / 2},
                 out.values.data(), out.groups.data());
        out.open = by.settle({out.values.data(), out.groups.data(), count, table.list_bits()});
      };
      read(kernels, here);
      read(portable, there);
      ASSERT_EQ(here.open, there.open);
      for (unsigned i = 0; i < count; ++i) {
        ASSERT_EQ(here.values[i], there.values[i]) << i << " of " << count;
        ASSERT_EQ(here.groups[i], there.groups[i]) << i << " of " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, WordKernels,
                         testing::ValuesIn(lookup::available_kernels().begin(),
                                           lookup::available_kernels().end()),
                         [](const auto &kernels) { return std::string(kernels.param->name); });

} // namespace
} // namespace weir::word_kernels_test
