// Chooses which keys leave the overfull lines of table 1, so that of each group of a line either all
// keys or none go to table 2. A location predictor with one bit a group is then right for every key.
//
// Each overfull line has a set of groups to give up: large enough to make room, with a free slot in
// table 2 for every key in it. Three steps:
//
//   decide     line after line, the set that hits the fewest full lines of table 2, then the one with
//              the fewest keys, then the one that goes to the emptiest lines
//   fill       table 2 gets its keys
//   repair     the few lines for which no set fitted push others out, which choose again: a random walk
//              as in cuckoo hashing, with line and set in the place of key and slot
//
// What finds no room after a bounded number of steps is handed back key by key: its groups may be
// split, and the chain's deeper layers settle them. Deterministic: the walk draws from a fixed seed.
#pragma once

#include "weir/table/line.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace weir::build {

template <class LineType> class Displacer {
public:
  using Line = LineType;
  using Key = typename Line::Key;
  struct Item {
    Key key;
    std::uint32_t value;
    std::uint32_t half2; // low half of the hash: line of table 2 and group
  };

  struct Wants {
    std::uint32_t line, first;
    std::uint16_t count;
    std::uint8_t set = 0; // groups given up; 0: not settled
  };

  // `groups` a line: 2, 4 or 8. Lines of table 2 are empty.
  Displacer(std::span<Line> lines1, std::span<Line> lines2, unsigned groups)
      : lines1_(lines1), lines2_(lines2), group_mask_(groups - 1), sets_(1u << groups), load_(lines2.size()) {
  }

  // An overfull line and all keys that want it; lines in rising order.
  void add(std::uint32_t line, std::span<const Item> items) {
    wants_.push_back(
        {line, static_cast<std::uint32_t>(items_.size()), static_cast<std::uint16_t>(items.size())});
    items_.insert(items_.end(), items.begin(), items.end());
  }
  void reserve(std::size_t lines, std::size_t items) {
    wants_.reserve(lines);
    items_.reserve(items);
  }

  // Writes the lines and returns the keys that found no room in them. `hash_of(key, value)` hashes.
  template <class HashOf> [[nodiscard]] std::vector<Item> run(HashOf hash_of) {
    decide();
    fill();
    repair(hash_of);
    return write_lines1();
  }

  [[nodiscard]] std::uint64_t lines_chosen() const noexcept { return wants_.size(); }
  [[nodiscard]] std::uint64_t lines_split() const noexcept { return split_; }
  [[nodiscard]] std::uint64_t repair_steps() const noexcept { return steps_; }

private:
  // Keys that would find a full line, keys, and how full the lines are, in one number: compared in this
  // order, and added up for a set from its groups.
  using Cost = std::uint64_t;
  static constexpr unsigned keys_at = 32, full_at = 48;
  struct Choice {
    std::uint8_t set = 0;
    Cost cost = std::numeric_limits<Cost>::max();
    [[nodiscard]] std::uint64_t full() const noexcept { return cost >> full_at; }
  };
  static constexpr std::uint8_t blocked = 64; // added to a load: treat the line as full
  static constexpr std::size_t window = 16;

  [[nodiscard]] std::span<const Item> items_of(const Wants &w) const noexcept {
    return std::span(items_).subspan(w.first, w.count);
  }
  [[nodiscard]] std::uint32_t line2_of(const Item &item) const noexcept {
    return reduce(item.half2, static_cast<std::uint32_t>(lines2_.size()));
  }
  [[nodiscard]] bool leaves(const Item &item, unsigned set) const noexcept {
    return (set >> (item.half2 & group_mask_) & 1) != 0;
  }
  [[nodiscard]] std::uint64_t random() noexcept { return remix({++drawn_}, 0x5EED0F0D15B1ACE5ull); }

  // The cheapest set for a line. `wander` breaks ties at random instead of by load.
  [[nodiscard]] Choice choose(const Wants &w, bool wander) noexcept {
    Cost of_group[8] = {}, of_set[256];
    for (const Item &item : items_of(w)) {
      const unsigned load = load_[line2_of(item)];
      Cost &cost = of_group[item.half2 & group_mask_];
      cost += (Cost{1} << keys_at) + (load >= Line::slots ? Cost{1} << full_at : Cost{1} << 2 * load);
    }
    if (wander)
      for (Cost &cost : of_group) cost = (cost >> keys_at << keys_at) + (random() & 0xFFFFFF);
    const auto excess = static_cast<std::uint64_t>(w.count - Line::slots);
    Choice best;
    of_set[0] = 0;
    for (unsigned set = 1; set < sets_; ++set) {
      of_set[set] = of_set[set & (set - 1)] + of_group[std::countr_zero(set)];
      if ((of_set[set] >> keys_at & 0xFFFF) >= excess && of_set[set] < best.cost)
        best = {static_cast<std::uint8_t>(set), of_set[set]};
    }
    return best;
  }

  void add_load(const Wants &w, int by) noexcept {
    for (const Item &item : items_of(w))
      if (leaves(item, w.set)) load_[line2_of(item)] = static_cast<std::uint8_t>(load_[line2_of(item)] + by);
  }

  void decide() {
    for (std::uint32_t i = 0; i < wants_.size(); ++i) {
      if (i + window < wants_.size())
        for (const Item &item : items_of(wants_[i + window])) __builtin_prefetch(&load_[line2_of(item)], 1);
      Wants &w = wants_[i];
      const Choice best = choose(w, false);
      if (best.full() == 0 && settle_if_room(w, best.set)) continue;
      unsettled_.push_back(i);
    }
  }

  // Two keys of a set may want the last slot of one line: then nothing is changed.
  [[nodiscard]] bool settle_if_room(Wants &w, std::uint8_t set) noexcept {
    w.set = set;
    add_load(w, 1);
    for (const Item &item : items_of(w))
      if (leaves(item, set) && load_[line2_of(item)] > Line::slots) {
        add_load(w, -1);
        w.set = 0;
        return false;
      }
    return true;
  }

  void fill() noexcept {
    for (std::size_t i = 0; i < wants_.size(); ++i) {
      if (i + window < wants_.size())
        for (const Item &item : items_of(wants_[i + window]))
          if (leaves(item, wants_[i + window].set)) __builtin_prefetch(&lines2_[line2_of(item)], 1);
      for (const Item &item : items_of(wants_[i]))
        if (leaves(item, wants_[i].set)) (void)put(lines2_[line2_of(item)], item);
    }
  }

  [[nodiscard]] static bool put(Line &line, const Item &item) noexcept {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (!table::value::is_set(line.value[s])) {
        line.key[s] = item.key;
        line.value[s] = (line.value[s] & table::value::group_bit) | item.value;
        return true;
      }
    return false;
  }
  static void drop(Line &line, const Item &item) noexcept {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (line.value[s] == item.value && line.key[s] == item.key) {
        line.key[s] = {};
        line.value[s] = 0;
        return;
      }
  }

  template <class HashOf> void repair(HashOf hash_of) {
    const std::uint64_t steps_max = 1000 + 4 * unsettled_.size();
    while (!unsettled_.empty() && steps_ < steps_max) {
      std::swap(unsettled_[random() % unsettled_.size()], unsettled_.back());
      const std::uint32_t i = unsettled_.back();
      unsettled_.pop_back();
      if (!push_in(wants_[i], hash_of)) unsettled_.push_back(i);
      ++steps_;
    }
  }

  // Settles `w` whatever stands in its way; false when only its own keys do.
  template <class HashOf> [[nodiscard]] bool push_in(Wants &w, HashOf hash_of) {
    const std::uint8_t set = choose(w, true).set;
    for (const Item &item : items_of(w)) {
      if (!leaves(item, set)) continue;
      const std::uint32_t line = line2_of(item);
      const auto same = std::ranges::count_if(
          items_of(w), [&](const Item &o) { return leaves(o, set) && line2_of(o) == line; });
      if (same > static_cast<std::ptrdiff_t>(Line::slots)) return false;
      while (load_[line] + same > Line::slots)
        if (!push_out(line, hash_of)) return false;
    }
    w.set = set;
    add_load(w, 1);
    for (const Item &item : items_of(w))
      if (leaves(item, set)) (void)put(lines2_[line2_of(item)], item);
    return true;
  }

  // Unsettles the line of table 1 with a key in `line` that has the best other choice.
  template <class HashOf> [[nodiscard]] bool push_out(std::uint32_t line, HashOf hash_of) {
    Wants *victim = nullptr;
    Choice best;
    for (unsigned s = 0; s < Line::slots; ++s) {
      if (!table::value::is_set(lines2_[line].value[s])) continue;
      Wants *const w = owner(hash_of(lines2_[line].key[s], lines2_[line].value[s]));
      if (w == nullptr || w == victim) continue;
      add_load(*w, -1);
      load_[line] = static_cast<std::uint8_t>(load_[line] + blocked);
      const Choice other = choose(*w, true);
      load_[line] = static_cast<std::uint8_t>(load_[line] - blocked);
      add_load(*w, 1);
      if (victim == nullptr || other.cost < best.cost) {
        victim = w;
        best = other;
      }
    }
    if (victim == nullptr) return false;
    for (const Item &item : items_of(*victim))
      if (leaves(item, victim->set)) drop(lines2_[line2_of(item)], item);
    add_load(*victim, -1);
    victim->set = 0;
    unsettled_.push_back(static_cast<std::uint32_t>(victim - wants_.data()));
    return true;
  }

  [[nodiscard]] Wants *owner(KeyHash h) noexcept {
    const std::uint32_t line = reduce(table::half1(h), static_cast<std::uint32_t>(lines1_.size()));
    const auto it = std::ranges::lower_bound(wants_, line, {}, &Wants::line);
    return it != wants_.end() && it->line == line ? &*it : nullptr;
  }

  // Lines of table 1 keep what they do not give up, and get their group bits. An unsettled line gives
  // up one by one what finds room.
  [[nodiscard]] std::vector<Item> write_lines1() {
    std::vector<Item> homeless;
    for (Wants &w : wants_) {
      const bool settled = w.set != 0;
      if (!settled) {
        w.set = choose(w, false).set;
        ++split_;
      }
      Line &line = lines1_[w.line];
      line = Line{};
      for (const Item &item : items_of(w)) {
        if (!leaves(item, w.set)) {
          (void)put(line, item);
        } else if (settled || put(lines2_[line2_of(item)], item)) {
          set_group_bit(line, item.half2 & (Line::groups - 1));
        } else {
          homeless.push_back(item);
        }
      }
    }
    return homeless;
  }

  static void set_group_bit(table::LineV4 &line, unsigned g) noexcept {
    line.value[g] |= table::value::group_bit;
  }
  static void set_group_bit(table::LineV6 &line, unsigned g) noexcept {
    line.group_bits |= std::uint32_t{1} << g;
  }

  std::span<Line> lines1_, lines2_;
  unsigned group_mask_, sets_;
  std::vector<std::uint8_t> load_; // keys in each line of table 2
  std::vector<Wants> wants_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> unsettled_;
  std::uint64_t drawn_ = 0, steps_ = 0, split_ = 0;
};

} // namespace weir::build
