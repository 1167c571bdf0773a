#include "weir/build/word_builder.hpp"

#include "weir/base/parallel.hpp"
#include "weir/build/keys.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

namespace weir::build {
namespace {

using table::WordLine, table::WordTableView;

[[nodiscard]] unsigned group_of(std::uint32_t word) noexcept { return word >> 28; }

// The smallest group that makes room, or the largest of all where none does.
[[nodiscard]] unsigned group_to_give_up(const unsigned (&in_group)[WordLine::groups],
                                        std::size_t excess) noexcept {
  const auto better = [excess](unsigned a, unsigned b) {
    const bool a_fits = a >= excess, b_fits = b >= excess;
    return a_fits != b_fits ? a_fits : a_fits ? a < b : a > b;
  };
  unsigned best = 0;
  for (unsigned g = 1; g < WordLine::groups; ++g)
    if (better(in_group[g], in_group[best])) best = g;
  return best;
}

} // namespace

WordBuilder::WordBuilder(MutableBytes section, std::uint32_t lines, std::uint64_t secret)
    : header_(reinterpret_cast<table::WordHeader *>(section.data())),
      lines_(reinterpret_cast<WordLine *>(section.data() + sizeof *header_)), view_(lines_, lines, secret) {
  header_->form = table::word_form;
  header_->lines = lines;
  report_.lines = lines;
  report_.bytes = section.size();
}

std::vector<WordBuilder::Item> WordBuilder::build(std::span<const EntryV4> entries, unsigned threads) {
  std::vector<Part> parts(entries.size() < entries_worth_a_thread ? 1 : threads);
  const auto count = static_cast<unsigned>(parts.size());
  in_parallel(count, [&](unsigned p) {
    fill_lines(entries, part_of(view_.count, p, count), parts[p]);
    std::ranges::stable_sort(parts[p].surplus, {}, &Surplus::line);
    std::ranges::stable_sort(parts[p].unnamable, {}, &Unnamable::line);
  });
  std::vector<Item> behind;
  for (Part &part : parts) {
    report_.hosts += part.hosts;
    behind.reserve(behind.size() + part.surplus.size() * 9 / 8 + part.unnamable.size());
    for (std::size_t i = 0; i < part.surplus.size();) {
      std::size_t end = i;
      while (end < part.surplus.size() && part.surplus[end].line == part.surplus[i].line) ++end;
      split_line(part.surplus[i].line, std::span(part.surplus).subspan(i, end - i), behind);
      i = end;
    }
    std::vector<Surplus>().swap(part.surplus);
  }
  for (const Part &part : parts)
    for (const Unnamable &u : part.unnamable) behind.push_back(u.item);
  for (const Item &item : behind) {
    const WordTableView::Spot at = view_.spot(item.key);
    lines_[at.line].word[at.group()] |= WordTableView::group_bit;
  }
  report_.hosts_behind = behind.size();
  for (std::uint32_t n = 0; n < view_.count; ++n)
    for (const std::uint32_t word : lines_[n].word) report_.group_bits_set += word & WordTableView::group_bit;
  header_->keys = report_.hosts;
  return behind;
}

void WordBuilder::fill_lines(std::span<const EntryV4> entries, WorkRange mine, Part &part) {
  constexpr std::size_t window = 32; // hosts scattered and prefetched ahead
  Surplus held[window];
  std::size_t count = 0;
  const auto flush = [&] {
    for (std::size_t i = 0; i < count; ++i)
      if (!put(lines_[held[i].line], held[i].word)) part.surplus.push_back(held[i]);
    count = 0;
  };
  part.surplus.reserve(entries.size() / 80 * (mine.end - mine.begin) / view_.count + 64);
  for (const EntryV4 &e : entries) {
    if (!detail::is_host(e)) continue;
    const std::uint32_t wire = detail::key_of(e);
    const WordTableView::Spot at = view_.spot(wire);
    if (at.line < mine.begin || at.line >= mine.end) continue;
    ++part.hosts;
    if (!view_.can_name(e.list)) {
      part.unnamable.push_back({at.line, {wire, table::value::make(e.list, e.length)}});
      continue;
    }
    __builtin_prefetch(&lines_[at.line], 1);
    held[count++] = {at.line, WordTableView::word_of(at, e.list)};
    if (count == window) flush();
  }
  flush();
}

bool WordBuilder::put(WordLine &line, std::uint32_t word) const noexcept {
  for (std::uint32_t &slot : line.word)
    if (slot == 0) { // group bits come last
      slot = word;
      return true;
    }
  return false;
}

void WordBuilder::split_line(std::uint32_t number, std::span<const Surplus> surplus,
                             std::vector<Item> &behind) {
  WordLine &line = lines_[number];
  scratch_.assign(std::begin(line.word), std::end(line.word));
  for (const Surplus &s : surplus) scratch_.push_back(s.word);
  unsigned in_group[WordLine::groups] = {};
  for (const std::uint32_t word : scratch_) ++in_group[group_of(word)];
  bool given_up[WordLine::groups] = {};
  for (std::size_t left = scratch_.size(); left > WordLine::slots;) {
    const unsigned g = group_to_give_up(in_group, left - WordLine::slots);
    given_up[g] = true;
    left -= in_group[g];
    in_group[g] = 0;
  }
  line = WordLine{};
  for (const std::uint32_t word : scratch_)
    if (given_up[group_of(word)])
      behind.push_back({view_.wire_of(number, word), view_.value_of(word)});
    else
      put(line, word);
}

} // namespace weir::build
