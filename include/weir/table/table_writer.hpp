// Changes one exact table in place while readers look on. One writer.
//
// How a key gets in (h = its hash, line1 and line2 its buckets):
//
//   1. stored already            replace the value
//   2. free slot in line1        key, then value
//   3. free slot in line2        key, then value, then the group bit in line1
//   4. a chain of moves frees a slot in line1 or line2 (breadth first, at most `moves_max` long)
//   5. free slot in the stash    key, value, count, group bit
//
// A move from table 1 to 2 writes the copy, sets the group bit, clears the original. A move from 2
// to 1 writes the copy, waits a grace period - a reader may have missed in table 1 before the copy
// was there - and only then clears the original. A freed slot is refilled only after a grace
// period: a reader that took its value early would pair it with the new key. The builder uses the
// same code with a grace period that is no wait at all.
//
// A batch of keys shares its grace periods: put_or_ask_again() never waits. Where a key needs a freed
// slot it frees one with a single move, if none is free already, and answers `waits`: after a grace
// period the same key is put again. A key that moved from table 2 to 1 stands in both until then.
#pragma once

#include "weir/table/sections.hpp"
#include "weir/table/table.hpp"

#include <cassert>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

namespace weir::table {

// The rules above. Tests leave one out to prove that they would notice.
struct SafeMoves {
  static constexpr bool waits_before_clearing_table2 = true;
};

template <class LineType, class Protocol = SafeMoves> class TableWriter {
public:
  using Line = LineType;
  using Key = typename Line::Key;
  using Rehash = std::function<KeyHash(const Key &, unsigned length)>;
  using Grace = std::function<void()>;

  enum class Put : std::uint8_t { replaced, added, full, waits };

  TableWriter() = default;
  // `view` is the table as readers see it, `header` and its lines the same memory, writable.
  TableWriter(const TableView<Line> &view, TableHeader &header, Rehash rehash, Grace grace)
      : view_(view), header_(&header), rehash_(std::move(rehash)), grace_(std::move(grace)) {}

  [[nodiscard]] const TableView<Line> &view() const noexcept { return view_; }

  // `value` carries the length. full: nothing was changed.
  Put put(const Key &key, std::uint32_t value, KeyHash h) {
    const unsigned length = value::length_of(value);
    if (const Place old = locate(key, length, h); old.line != nullptr) {
      set_value(old, value);
      return Put::replaced;
    }
    if (place_directly(key, value, h)) return Put::added;
    if (!leaving_.empty()) {
      grace_();
      grace_passed();
    }
    if (!freed_.empty()) { // room may be waiting for nothing but its grace period
      grace_();
      grace_passed();
      if (place_directly(key, value, h)) return Put::added;
    }
    if (make_room(h) && place_directly(key, value, h)) return Put::added;
    return place_in_stash(key, value, h) ? Put::added : Put::full;
  }

  // The same without waiting: `waits` means put it again after grace_passed(). full: no single move
  // makes room, which put() may still find a way to do.
  Put put_or_ask_again(const Key &key, std::uint32_t value, KeyHash h) {
    if (const Place old = locate(key, value::length_of(value), h); old.line != nullptr) {
      set_value(old, value);
      return Put::replaced;
    }
    if (place_directly(key, value, h)) return Put::added;
    if (freed_slot_in(view_.line1(h)) || freed_slot_in(view_.line2(h))) return Put::waits;
    if (move_one_to_table2(*writable(view_.line1(h)))) return Put::waits;
    return move_one_to_table1(*writable(view_.line2(h))) ? Put::waits : Put::full;
  }

  // The same for a key that a predictor leads to one line: nothing moves, the stash is out of
  // bounds. For keys of table 2 the group bit is set too, so that readers without a predictor find them.
  Put put_into(bool table2, const Key &key, std::uint32_t value, KeyHash h) {
    if (const Place old = locate(key, value::length_of(value), h); old.line != nullptr) {
      set_value(old, value);
      return Put::replaced;
    }
    Line &line = *writable(table2 ? view_.line2(h) : view_.line1(h));
    const Place p = free_slot(line);
    if (p.line == nullptr) return freed_slot_in(line) ? Put::waits : Put::full;
    fill(p, key, value);
    if (table2) set_group_bit(*writable(view_.line1(h)), group_of<Line>(h));
    return Put::added;
  }

  // Waits for a grace period itself.
  void pass_grace() {
    grace_();
    grace_passed();
  }

  // False when (key, length) is not stored.
  bool erase(const Key &key, unsigned length, KeyHash h) {
    Place old = locate(key, length, h);
    if (old.line == nullptr) return false;
    clear(old);
    if (leaving_.empty()) return true;
    // Gone from table 1, it must not be found in the place that it was leaving.
    old = find_slot(*writable(view_.line2(h)), key, length);
    if (old.line == nullptr) return true;
    clear(old);
    std::erase_if(leaving_, [&](const Place &p) { return p.line == old.line && p.slot == old.slot; });
    return true;
  }

  // Keys moved from one table to the other to make room, for status and tests.
  struct Moves {
    std::uint64_t from1to2 = 0, from2to1 = 0;
  };
  [[nodiscard]] const Moves &moves() const noexcept { return moves_; }

  // Readers have passed a quiescent state since the last change: freed slots may be refilled.
  void grace_passed() {
    freed_.clear();
    for (const Place &place : leaving_) clear(place);
    leaving_.clear();
  }

private:
  static constexpr unsigned nodes_max = 512; // lines looked at for a chain of moves

  struct Place {
    Line *line = nullptr;
    unsigned slot = 0;
  };
  struct Node { // a full line, and how a key of its parent gets there
    Line *line;
    bool in_table1;
    int parent;
    unsigned parent_slot; // the key of the parent that would move here
  };

  [[nodiscard]] static Line *writable(const Line &line) noexcept { return const_cast<Line *>(&line); }

  void set_value(Place p, std::uint32_t value) noexcept {
    const std::uint32_t kept = p.line->value[p.slot] & value::group_bit;
    write_release(p.line->value[p.slot], (value & ~value::group_bit) | kept);
  }
  void fill(Place p, const Key &key, std::uint32_t value) noexcept {
    write_key(p.line->key[p.slot], key);
    set_value(p, value);
  }
  void clear(Place p) {
    set_value(p, 0);
    freed_.insert(&p.line->value[p.slot]);
  }
  static void set_group_bit(LineV4 &line, unsigned group) noexcept {
    write_release(line.value[group], line.value[group] | value::group_bit);
  }
  static void set_group_bit(LineV6 &line, unsigned group) noexcept {
    write_release(line.group_bits, line.group_bits | std::uint32_t{1} << group);
  }

  [[nodiscard]] static Place find_slot(Line &line, const Key &key, unsigned length) noexcept {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (answers(line.value[s], length) && line.key[s] == key) return {&line, s};
    return {};
  }
  [[nodiscard]] Place free_slot(Line &line) const {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (!value::is_set(line.value[s]) && (freed_.empty() || !freed_.contains(&line.value[s])))
        return {&line, s};
    return {};
  }

  [[nodiscard]] Place locate(const Key &key, unsigned length, KeyHash h) const noexcept {
    if (const Place p = find_slot(*writable(view_.line1(h)), key, length); p.line) return p;
    if (!view_.may_be_in2(h)) return {};
    if (const Place p = find_slot(*writable(view_.line2(h)), key, length); p.line) return p;
    for (std::uint32_t i = 0; i < view_.stash_lines; ++i)
      if (const Place p = find_slot(*writable(view_.stash[i]), key, length); p.line) return p;
    return {};
  }

  bool place_directly(const Key &key, std::uint32_t value, KeyHash h) {
    if (const Place p = free_slot(*writable(view_.line1(h))); p.line) {
      fill(p, key, value);
      return true;
    }
    if (const Place p = free_slot(*writable(view_.line2(h))); p.line) {
      fill(p, key, value);
      set_group_bit(*writable(view_.line1(h)), group_of<Line>(h));
      return true;
    }
    return false;
  }

  bool place_in_stash(const Key &key, std::uint32_t value, KeyHash h) {
    for (std::uint32_t i = 0; i < view_.stash_lines; ++i)
      if (const Place p = free_slot(*writable(view_.stash[i])); p.line) {
        fill(p, key, value);
        write_release(header_->stash_keys, header_->stash_keys + 1);
        set_group_bit(*writable(view_.line1(h)), group_of<Line>(h));
        return true;
      }
    return false;
  }

  [[nodiscard]] bool freed_slot_in(const Line &line) const {
    if (freed_.empty()) return false;
    for (unsigned s = 0; s < Line::slots; ++s)
      if (!value::is_set(line.value[s])) return true; // one without a wait would have been taken
    return false;
  }

  // Leaves a freed slot in `line` of table 1.
  bool move_one_to_table2(Line &line) {
    for (unsigned s = 0; s < Line::slots; ++s) {
      Line &other = *writable(view_.line2(hash_at(line, s)));
      const Place to = free_slot(other);
      if (to.line == nullptr || (!leaving_.empty() && stands_in(other, line, s))) continue;
      copy_to({&line, s}, to, true);
      return true;
    }
    return false;
  }

  // A slot of `line` of table 2 will be freed after the next grace period, and may be refilled after
  // the one that follows.
  bool move_one_to_table1(Line &line) {
    for (unsigned s = 0; s < Line::slots; ++s) {
      Line &other = *writable(view_.line1(hash_at(line, s)));
      if (!leaving_.empty() && stands_in(other, line, s)) return true; // under way for another key
      const Place to = free_slot(other);
      if (to.line == nullptr) continue;
      fill(to, line.key[s], line.value[s] & ~value::group_bit);
      leaving_.push_back({&line, s});
      ++moves_.from2to1;
      return true;
    }
    return false;
  }

  [[nodiscard]] static bool stands_in(Line &other, const Line &line, unsigned slot) noexcept {
    return find_slot(other, line.key[slot], value::length_of(line.value[slot])).line != nullptr;
  }

  [[nodiscard]] KeyHash hash_at(const Line &line, unsigned slot) const {
    return rehash_(line.key[slot], value::length_of(line.value[slot]));
  }

  // Finds the shortest chain of moves that ends in a free slot and begins in a bucket of `h`, and
  // performs it from its free end.
  bool make_room(KeyHash h) {
    std::vector<Node> nodes{{writable(view_.line1(h)), true, -1, 0},
                            {writable(view_.line2(h)), false, -1, 0}};
    for (std::size_t n = 0; n < nodes.size() && nodes.size() < nodes_max; ++n) {
      for (unsigned s = 0; s < Line::slots; ++s) {
        const Node here = nodes[n];
        if (!value::is_set(here.line->value[s])) continue; // freed, still waiting for its grace period
        const KeyHash moved = hash_at(*here.line, s);
        Line *const target = writable(here.in_table1 ? view_.line2(moved) : view_.line1(moved));
        nodes.push_back({target, !here.in_table1, static_cast<int>(n), s});
        if (free_slot(*target).line != nullptr) return move_along(nodes, nodes.size() - 1);
      }
    }
    return false;
  }

  // Moves the parent's key into the free slot of `last`, then the grandparent's into the parent's ...
  bool move_along(const std::vector<Node> &nodes, std::size_t last) {
    for (std::size_t n = last; nodes[n].parent >= 0; n = static_cast<std::size_t>(nodes[n].parent)) {
      const Node &parent = nodes[static_cast<std::size_t>(nodes[n].parent)];
      const Place to = free_slot(*nodes[n].line);
      if (to.line == nullptr) return false; // the chain crossed itself; what has moved is still found
      move({parent.line, nodes[n].parent_slot}, to, parent.in_table1);
    }
    return true;
  }

  void move(Place from, Place to, bool from_table1) {
    if (!value::is_set(from.line->value[from.slot])) return;
    copy_to(from, to, from_table1);
    grace_();
    grace_passed();
  }

  // The first half of a move: the key stands in its new place, and its old slot is freed.
  void copy_to(Place from, Place to, bool from_table1) {
    const std::uint32_t value = from.line->value[from.slot] & ~value::group_bit;
    const KeyHash h = hash_at(*from.line, from.slot);
    fill(to, from.line->key[from.slot], value);
    if (from_table1) {
      set_group_bit(*writable(view_.line1(h)), group_of<Line>(h));
    } else if constexpr (Protocol::waits_before_clearing_table2) {
      grace_();
    }
    clear(from);
    ++(from_table1 ? moves_.from1to2 : moves_.from2to1);
  }

  TableView<Line> view_;
  TableHeader *header_ = nullptr;
  Rehash rehash_;
  Grace grace_;
  Moves moves_;
  std::vector<Place> leaving_;                      // in table 2, of keys that stand in table 1 by now
  std::unordered_set<const std::uint32_t *> freed_; // values cleared since the last grace period
};

} // namespace weir::table
