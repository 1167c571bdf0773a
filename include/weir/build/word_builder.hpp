// Fills lines of words (table/word_line.hpp) with all hosts at once, and says which of them are for the table behind.
//
// Every host goes to its line, if a word can name its list. A line with more hosts than slots gives up whole groups, the
// fewest hosts that make room, so that few group bits are set: most absent hosts then end after one line. Cost: each
// thread scatters every host once, and reads and writes the lines of its own part.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/build/table_builder.hpp"
#include "weir/build/word_size.hpp"
#include "weir/table/word_line.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

// What a build of lines of words came to. What is behind them the report of the table says.
struct WordReport {
  std::uint64_t hosts = 0; // in words and behind; 0: there are no such lines
  std::uint64_t hosts_behind = 0, group_bits_set = 0, bytes = 0;
  std::uint32_t lines = 0;
};

class WordBuilder {
public:
  using Item = TableBuilder<table::LineV4>::Item;

  // `section` is zeroed memory of word_bytes(lines). `secret`: the seed of hosts in the image.
  WordBuilder(MutableBytes section, std::uint32_t lines, std::uint64_t secret);

  // Of the entries the hosts, which are distinct. On any number of threads the same bytes come out, and the same items in
  // the same order: those for the table behind.
  [[nodiscard]] std::vector<Item> build(std::span<const EntryV4> entries, unsigned threads);

  [[nodiscard]] const table::WordTableView &view() const noexcept { return view_; }
  [[nodiscard]] WordReport report() const noexcept { return report_; }

private:
  struct Surplus { // a host beyond the slots of its line
    std::uint32_t line, word;
  };
  struct Unnamable { // its list has too large a number
    std::uint32_t line;
    Item item;
  };
  struct Part { // of the lines, one thread's
    std::vector<Surplus> surplus;
    std::vector<Unnamable> unnamable;
    std::uint64_t hosts = 0;
  };

  void fill_lines(std::span<const EntryV4> entries, WorkRange mine, Part &part);
  bool put(table::WordLine &line, std::uint32_t word) const noexcept;
  // Makes room in a line that has more hosts than slots.
  void split_line(std::uint32_t number, std::span<const Surplus> surplus, std::vector<Item> &behind);

  table::WordHeader *header_;
  table::WordLine *lines_;
  table::WordTableView view_;
  WordReport report_;
  std::vector<std::uint32_t> scratch_; // words of one line
};

} // namespace weir::build
