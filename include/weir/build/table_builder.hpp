// Builds one exact table (table/table.hpp) from all its keys at once.
//
// Table 1 first: every key goes to its line there. A line with more keys than slots gives up whole
// groups - the fewest that make room - so that few group bits are set and most absent keys end
// after one line. What was given up goes to table 2; the few keys that find both lines full are put in
// by the writer's chains of moves, and the last handful by the stash.
//
// Sizes follow from the number of keys alone: about 0.905 n keys at seven of eight slots in table 1,
// the rest at three quarters in table 2 (IPv6: 0.73 n, table 2 at 2.5 of three slots).
//
// For a chained predictor (table/chained_predictor.hpp) groups are coarser and stay whole wherever
// possible (build/displacer.hpp). A second line costs nothing then, so table 1 is filled to the brim and
// more keys go to table 2: 0.85 n and 0.15 n in fewer bytes.
#pragma once

#include "weir/base/parallel.hpp"
#include "weir/base/result.hpp"
#include "weir/build/displacer.hpp"
#include "weir/build/table_size.hpp"
#include "weir/table/table_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace weir::build {

template <class LineType> class TableBuilder {
public:
  using Line = LineType;
  using Key = typename Line::Key;
  struct Item {
    Key key;
    std::uint32_t value; // carries the length
  };

  // `section` is zeroed memory of `size`.bytes(), the table_size() of keys and predictor.
  TableBuilder(MutableBytes section, TableSize size, table::KeyHasher hasher,
               Predictor predictor = Predictor::inline_bits)
      : hasher_(hasher), header_(reinterpret_cast<table::TableHeader *>(section.data())),
        lines_(reinterpret_cast<Line *>(section.data() + sizeof *header_)), size_(size),
        density_(density<Line>(predictor)) {
    header_->lines1 = size.lines1;
    header_->lines2 = size.lines2;
    header_->stash_lines = size.stash_lines;
  }

  // `item(i)` for i < count gives the i-th key, on any of `threads`; keys are distinct. False: not even the
  // stash had room.
  template <class ItemAt> [[nodiscard]] bool build(std::uint64_t count, ItemAt item, unsigned threads = 1) {
    header_->keys = count;
    fill_table1(count, item, count < entries_worth_a_thread ? 1 : threads);
    if (density_.whole_groups != 0) return displace_whole_groups();
    give_up_groups();
    const bool ok = place_rest();
    recompute_group_bits();
    return ok;
  }

  [[nodiscard]] table::TableView<Line> view() const noexcept {
    return {lines_,
            lines_ + size_.lines1,
            lines_ + size_.lines1 + size_.lines2,
            &header_->stash_keys,
            size_.lines1,
            size_.lines2,
            size_.stash_lines};
  }

  [[nodiscard]] TableReport report() const {
    TableReport r;
    r.keys = header_->keys;
    r.in_stash = header_->stash_keys;
    r.bytes = size_.bytes();
    r.chain.lines_split = lines_split_;
    const table::TableView<Line> v = view();
    std::uint64_t in_table1 = 0;
    for (std::uint32_t i = 0; i < size_.lines1; ++i) {
      in_table1 += used(v.lines1[i]);
      for (unsigned g = 0; g < Line::groups; ++g) r.group_bits_set += group_bit(v.lines1[i], g) ? 1 : 0;
    }
    r.in_table2 = r.keys - in_table1;
    const double slots = (double{1} * size_.lines1 + size_.lines2) * Line::slots;
    r.load = static_cast<double>(r.keys) / slots;
    if (r.keys == 0) return r;
    r.lines_hit = 1 + static_cast<double>(r.in_table2) / static_cast<double>(r.keys);
    r.lines_absent = 1 + static_cast<double>(r.group_bits_set) / (double{1} * size_.lines1 * Line::groups);
    return r;
  }

  struct Overflow {
    std::uint32_t line;
    Item item;
  };

private:
  static constexpr std::size_t window = 32; // keys hashed and prefetched ahead

  // Room that is not used takes no memory; a vector that grows is there twice.
  [[nodiscard]] static std::size_t with_margin(double expected) noexcept {
    return static_cast<std::size_t>(expected * 1.05) + 64;
  }

  [[nodiscard]] KeyHash hash(const Key &key, std::uint32_t value) const noexcept {
    return hasher_(key, table::value::length_of(value));
  }
  [[nodiscard]] static unsigned used(const Line &line) noexcept {
    unsigned n = 0;
    for (unsigned s = 0; s < Line::slots; ++s) n += table::value::is_set(line.value[s]) ? 1 : 0;
    return n;
  }
  [[nodiscard]] static bool put(Line &line, const Item &item) noexcept {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (!table::value::is_set(line.value[s])) {
        line.key[s] = item.key;
        line.value[s] = item.value;
        return true;
      }
    return false;
  }

  // Each thread reads all keys and fills the lines of its own part, so the order of keys in a line, and
  // with it the image, is the same for any number of threads. Surplus keys end up sorted by line, part after part.
  template <class ItemAt> void fill_table1(std::uint64_t count, ItemAt item, unsigned threads) {
    surplus_.resize(threads);
    const std::uint64_t each = count / threads;
    in_parallel(threads, [&](unsigned part) {
      surplus_[part].reserve(with_margin(surplus_expected<Line>(each, density_)));
      fill_lines(count, item, part_of(size_.lines1, part, threads), surplus_[part]);
      std::ranges::stable_sort(surplus_[part], {}, &Overflow::line);
    });
  }

  template <class ItemAt>
  void fill_lines(std::uint64_t count, ItemAt item, WorkRange mine, std::vector<Overflow> &surplus) {
    Item items[window];
    std::uint32_t line[window];
    std::size_t held = 0;
    const auto flush = [&] {
      for (std::size_t i = 0; i < held; ++i)
        if (!put(lines_[line[i]], items[i])) surplus.push_back({line[i], items[i]});
      held = 0;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      items[held] = item(i);
      const std::uint32_t at = reduce(table::half1(hash(items[held].key, items[held].value)), size_.lines1);
      line[held] = at;
      if (at < mine.begin || at >= mine.end) continue;
      __builtin_prefetch(&lines_[at], 1);
      if (++held == window) flush();
    }
    flush();
  }

  // A line with k keys too many gives up the one group of at least k keys that is smallest, or, when
  // there is none, its largest group and again. Whole groups: a group is then in one table only.
  void give_up_groups() {
    to_table2_.reserve(with_margin(static_cast<double>(header_->keys) * density_.share2));
    for_each_overfull([this](std::span<const Overflow> extra) { split_line(lines_[extra[0].line], extra); });
  }

  // Calls `visit` with the surplus of each overfull line in turn, and frees what was visited part by part.
  template <class Visit> void for_each_overfull(Visit visit) {
    for (std::vector<Overflow> &part : surplus_) {
      for (std::size_t i = 0; i < part.size();) {
        std::size_t end = i;
        while (end < part.size() && part[end].line == part[i].line) ++end;
        visit(std::span<const Overflow>(part).subspan(i, end - i));
        i = end;
      }
      std::vector<Overflow>().swap(part);
    }
    surplus_.clear();
  }

  [[nodiscard]] bool displace_whole_groups() {
    Displacer<Line> displacer({lines_, size_.lines1}, {lines_ + size_.lines1, size_.lines2},
                              density_.whole_groups);
    const OverfullLines overfull = overfull_expected<Line>(header_->keys, density_);
    displacer.reserve(with_margin(overfull.lines), with_margin(overfull.keys));
    std::vector<typename Displacer<Line>::Item> wanting;
    const auto add = [&](const Key &key, std::uint32_t value) {
      wanting.push_back({key, value, table::half2(hash(key, value))});
    };
    for_each_overfull([&](std::span<const Overflow> extra) {
      const Line &line = lines_[extra[0].line];
      wanting.clear();
      for (unsigned s = 0; s < Line::slots; ++s) add(line.key[s], line.value[s]);
      for (const Overflow &o : extra) add(o.item.key, o.item.value);
      displacer.add(extra[0].line, wanting);
    });
    std::vector<Item> homeless;
    for (const auto &item : displacer.run([this](const Key &k, std::uint32_t v) { return hash(k, v); }))
      homeless.push_back({item.key, item.value});
    lines_split_ = displacer.lines_split();
    return settle(homeless);
  }

  void split_line(Line &line, std::span<const Overflow> extra) {
    std::vector<Item> &items = scratch_;
    items.clear();
    for (unsigned s = 0; s < Line::slots; ++s) items.push_back({line.key[s], line.value[s]});
    for (const Overflow &o : extra) items.push_back(o.item);
    unsigned in_group[Line::groups] = {};
    for (const Item &item : items) ++in_group[group(item)];
    bool given_up[Line::groups] = {};
    for (std::size_t left = items.size(); left > Line::slots;) {
      const unsigned g = group_to_give_up(in_group, given_up, left - Line::slots);
      given_up[g] = true;
      left -= in_group[g];
    }
    line = Line{};
    for (const Item &item : items)
      if (given_up[group(item)] || !put(line, item)) to_table2_.push_back(item);
  }

  [[nodiscard]] unsigned group(const Item &item) const noexcept {
    return table::group_of<Line>(hash(item.key, item.value));
  }

  [[nodiscard]] static unsigned group_to_give_up(const unsigned (&in_group)[Line::groups],
                                                 const bool (&given_up)[Line::groups],
                                                 std::size_t excess) noexcept {
    unsigned best = 0, largest = 0;
    bool fits = false, any = false;
    for (unsigned g = 0; g < Line::groups; ++g) {
      if (given_up[g] || in_group[g] == 0) continue;
      if (in_group[g] >= excess && (!fits || in_group[g] < in_group[best])) {
        best = g;
        fits = true;
      }
      if (!any || in_group[g] > in_group[largest]) largest = g;
      any = true;
    }
    return fits ? best : largest;
  }

  [[nodiscard]] bool place_rest() {
    std::vector<Item> homeless;
    for (std::size_t i = 0; i < to_table2_.size(); ++i) {
      if (i + window < to_table2_.size()) __builtin_prefetch(&line2(to_table2_[i + window]), 1);
      const Item &item = to_table2_[i];
      set_group_bit(item);
      if (!put(line2(item), item)) homeless.push_back(item);
    }
    to_table2_.clear();
    to_table2_.shrink_to_fit();
    return settle(homeless);
  }

  // Chains of moves, then the stash.
  [[nodiscard]] bool settle(std::span<const Item> homeless) {
    table::TableWriter<Line> writer(
        view(), *header_, [this](const Key &key, unsigned length) { return hasher_(key, length); }, [] {});
    for (const Item &item : homeless) {
      const KeyHash h = hash(item.key, item.value);
      if (writer.put(item.key, item.value, h) == table::TableWriter<Line>::Put::full) return false;
      writer.grace_passed();
    }
    return true;
  }

  [[nodiscard]] Line &line2(const Item &item) const noexcept {
    return lines_[size_.lines1 + reduce(table::half2(hash(item.key, item.value)), size_.lines2)];
  }
  [[nodiscard]] Line &line1(const Item &item) const noexcept {
    return lines_[reduce(table::half1(hash(item.key, item.value)), size_.lines1)];
  }

  static void set_bit(table::LineV4 &line, unsigned g) noexcept { line.value[g] |= table::value::group_bit; }
  static void set_bit(table::LineV6 &line, unsigned g) noexcept { line.group_bits |= std::uint32_t{1} << g; }
  static void clear_bits(table::LineV4 &line) noexcept {
    for (std::uint32_t &v : line.value) v &= ~table::value::group_bit;
  }
  static void clear_bits(table::LineV6 &line) noexcept { line.group_bits = 0; }
  void set_group_bit(const Item &item) noexcept { set_bit(line1(item), group(item)); }

  // Moves leave bits behind that no key needs any more.
  void recompute_group_bits() noexcept {
    for (std::uint32_t i = 0; i < size_.lines1; ++i) clear_bits(lines_[i]);
    const std::uint64_t all = std::uint64_t{size_.lines1} + size_.lines2 + size_.stash_lines;
    for (std::uint64_t i = size_.lines1; i < all; ++i)
      for (unsigned s = 0; s < Line::slots; ++s)
        if (table::value::is_set(lines_[i].value[s])) set_group_bit({lines_[i].key[s], lines_[i].value[s]});
  }

  table::KeyHasher hasher_;
  table::TableHeader *header_;
  Line *lines_;
  TableSize size_;
  Density density_;
  std::uint64_t lines_split_ = 0;
  std::vector<std::vector<Overflow>> surplus_; // by part of table 1
  std::vector<Item> to_table2_, scratch_;
};

} // namespace weir::build
