// A burst's way through the tables in three stages, so that memory answers while other bursts work:
//
//   begin/ask        burst i+2: length maps, hashes, prefetch of table 1 lines
//   probe_first      burst i+1: table 1 answers, prefetch of table 2 lines where a group bit says so
//   finish           burst i:   table 2 answers, longest match per question
//
// One object is one burst in flight and carries the view that it began with; the view must stay
// valid until finish(). A question costs one probe per prefix length in use for its address, all
// prefetched together; the few bursts with more probes than there is room for answer the rest of
// their questions one at a time, with the same result.
//
//   BurstLookup burst;                    // about 80 KiB: keep three per worker, not on the stack
//   burst.begin(view);
//   burst.ask_v4(slot, wire);             // slot 0..63, each at most once, in any order
//   burst.ask_v6(slot, sixteen_bytes);    // the bytes must live until finish()
//   burst.probe_first();
//   burst.finish();
//   burst.allow(slot), burst.deny(slot)   // 32-bit table values, 0 = no match
#pragma once

#include "weir/image/reader.hpp"
#include "weir/image/view.hpp"

#include <array>
#include <cstdint>

namespace weir::table {

class BurstLookup {
public:
  static constexpr unsigned slots_max = 64;

  // What the burst cost, for the planner and for `status`.
  struct Cost {
    unsigned probes = 0;       // (address, length, side) asked of a table
    unsigned second_lines = 0; // of them, how many went on to table 2
  };

  void begin(const image::ImageView &view) noexcept {
    view_ = &view;
    cost_ = {};
    v4_.count = v6_.count = alone_count_ = 0;
    for (unsigned side = 0; side < 2; ++side) {
      asks_v4_[side] = !view.lengths_v4[side].empty();
      default_v4_[side] = read_acquire(*view.lengths_v4[side].default_value);
      for (unsigned w = 0; w < 3; ++w) lengths_v6_[side][w] = view.lengths_v6[side].word(w);
    }
  }

  void ask_v4(unsigned slot, std::uint32_t wire) noexcept {
    const std::uint32_t deny = asks_v4_[0] ? open_v4(0, slot, wire) : answer_[0][slot] = 0;
    const std::uint32_t allow = asks_v4_[1] ? open_v4(1, slot, wire) : answer_[1][slot] = 0;
    constexpr std::uint32_t hosts = 1u << (32 - short_length_max - 1);
    if (deny == hosts && allow == 0 && v4_.count < ProbesV4::capacity) [[likely]] {
      v4_.add(view_->v4[0], slot, 0, 32, wire, hash_v4(wire, view_->seeds_v4[32]));
      return;
    }
    ask_lengths_v4(slot, wire, deny, allow);
  }

  void ask_v6(unsigned slot, const std::uint8_t *address) noexcept {
    answer_[0][slot] = answer_[1][slot] = 0;
    const KeyV6 whole = KeyV6::load(address);
    const unsigned before = v6_.count;
    for (unsigned w = 0; w < 3; ++w) {
      for (std::uint64_t rest = lengths_v6_[0][w] | lengths_v6_[1][w]; rest != 0; rest &= rest - 1) {
        const auto at = static_cast<unsigned>(std::countr_zero(rest));
        const unsigned length = w * 64 + at;
        if (v6_.count + 2 > ProbesV6::capacity) {
          v6_.count = before;
          alone_[alone_count_++] = {static_cast<std::uint8_t>(slot), Family::ipv6, 0, address};
          return;
        }
        const KeyV6 mask = key_mask_v6(length);
        const KeyV6 key{whole.low & mask.low, whole.high & mask.high};
        const KeyHash h = hash_v6(&key, view_->seeds_v6[length]);
        for (unsigned side = 0; side < 2; ++side)
          if (lengths_v6_[side][w] >> at & 1) v6_.add(view_->v6[side], slot, side, length, key, h);
      }
    }
  }

  void probe_first() noexcept {
    v4_.probe_first(view_->v4, answer_);
    v6_.probe_first(view_->v6, answer_);
  }

  void finish() noexcept {
    v4_.finish(view_->v4, answer_);
    v6_.finish(view_->v6, answer_);
    cost_ = {v4_.asked_table + v6_.asked_table, v4_.open_second + v6_.open_second};
    for (unsigned i = 0; i < alone_count_; ++i) {
      const Alone &a = alone_[i];
      for (const image::Side side : {image::Side::deny, image::Side::allow})
        answer_[static_cast<unsigned>(side)][a.slot] = a.family == Family::ipv4
                                                           ? image::lookup_v4(*view_, side, a.wire)
                                                           : image::lookup_v6(*view_, side, a.address);
    }
  }

  [[nodiscard]] std::uint32_t deny(unsigned slot) const noexcept { return answer_[0][slot]; }
  [[nodiscard]] std::uint32_t allow(unsigned slot) const noexcept { return answer_[1][slot]; }
  [[nodiscard]] const image::ImageView *view() const noexcept { return view_; }
  [[nodiscard]] const Cost &cost() const noexcept { return cost_; }

private:
  using Answers = std::uint32_t[2][slots_max];

  static void offer(std::uint32_t &best, std::uint32_t value) noexcept {
    if (value != 0 && (best == 0 || image::value::length_of(value) >= image::value::length_of(best)))
      best = value;
  }

  // Probes of one family. Those that table 1 settles are answered in probe_first(); what is left
  // waits in `open` for finish().
  template <class Line, unsigned Capacity> struct Probes {
    static constexpr unsigned capacity = Capacity;
    using Key = typename Line::Key;
    using Sides = image::SideView<Line>;
    struct Probe {
      KeyHash hash;
      Key key;
      std::uint8_t slot, side, length;
    };

    void add(const Sides &view, unsigned slot, unsigned side, unsigned length, const Key &key,
             KeyHash h) noexcept {
      if (view.front.empty())
        view.table.prefetch1(h);
      else
        view.front.prefetch(h);
      Probe &p = probe[count++];
      p.hash = h;
      p.key = key;
      p.slot = static_cast<std::uint8_t>(slot);
      p.side = static_cast<std::uint8_t>(side);
      p.length = static_cast<std::uint8_t>(length);
    }

    void probe_first(const Sides *views, Answers &answers) noexcept {
      open_first = open_second = 0;
      asked_table = count;
      const bool plain = views[0].overlay.empty() && views[1].overlay.empty() && views[0].front.empty();
      if (plain) [[likely]] {
        for (unsigned i = 0; i < count; ++i) probe_table1(views[probe[i].side], i, answers);
        return;
      }
      for (unsigned i = 0; i < count; ++i) probe_guarded(views[probe[i].side], i, answers);
    }

    // The overlay's word is final; the front filter may end it; behind one, table 1 is asked in finish().
    void probe_guarded(const Sides &view, unsigned i, Answers &answers) noexcept {
      const Probe &p = probe[i];
      if (!view.overlay.empty()) {
        if (const std::uint32_t v = view.overlay.find(p.key, p.length, p.hash)) {
          offer(answers[p.side][p.slot], is_tombstone(v) ? 0 : v);
          --asked_table;
          return;
        }
      }
      if (view.front.empty()) {
        probe_table1(view, i, answers);
      } else if (view.front.contains(p.hash)) {
        view.table.prefetch1(p.hash);
        first[open_first++] = static_cast<std::uint16_t>(i);
      } else {
        --asked_table;
      }
    }

    void probe_table1(const Sides &view, unsigned i, Answers &answers) noexcept {
      const Probe &p = probe[i];
      const Line &line = view.table.line1(p.hash);
      if (const std::uint32_t v = find_in(line, p.key, p.length)) {
        offer(answers[p.side][p.slot], v);
        return;
      }
      compiler_fence();
      if (!group_bit(line, group_of<Line>(p.hash))) return;
      view.table.prefetch2(p.hash);
      second[open_second++] = static_cast<std::uint16_t>(i);
    }

    void finish(const Sides *views, Answers &answers) noexcept {
      for (unsigned i = 0; i < open_first; ++i) probe_table1(views[probe[first[i]].side], first[i], answers);
      for (unsigned i = 0; i < open_second; ++i) {
        const Probe &p = probe[second[i]];
        offer(answers[p.side][p.slot], views[p.side].table.find2(p.key, p.length, p.hash));
      }
    }

    unsigned count = 0, open_first = 0, open_second = 0, asked_table = 0;
    std::array<Probe, Capacity> probe;
    std::array<std::uint16_t, Capacity> first, second;
  };
  using ProbesV4 = Probes<LineV4, 1024>;
  using ProbesV6 = Probes<LineV6, 1024>;

  struct Alone { // a question that found no room
    std::uint8_t slot;
    Family family;
    std::uint32_t wire;
    const std::uint8_t *address;
  };

  // Sets the answer to the best short prefix and returns the longer lengths in use.
  [[nodiscard]] std::uint32_t open_v4(unsigned side, unsigned slot, std::uint32_t wire) noexcept {
    const std::uint64_t cell = view_->lengths_v4[side].cell(wire);
    answer_[side][slot] = short_value(cell) != 0 ? short_value(cell) : default_v4_[side];
    return long_lengths(cell);
  }

  void ask_lengths_v4(unsigned slot, std::uint32_t wire, std::uint32_t deny, std::uint32_t allow) noexcept {
    const std::uint32_t both = deny | allow;
    if (both == 0) return;
    if (v4_.count + 2 * static_cast<unsigned>(std::popcount(both)) > ProbesV4::capacity) {
      alone_[alone_count_++] = {static_cast<std::uint8_t>(slot), Family::ipv4, wire, nullptr};
      return;
    }
    for (std::uint32_t rest = both; rest != 0; rest &= rest - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(rest));
      const unsigned length = at + short_length_max + 1;
      const std::uint32_t key = wire & wire_mask_v4(length);
      const KeyHash h = hash_v4(key, view_->seeds_v4[length]);
      if (deny >> at & 1) v4_.add(view_->v4[0], slot, 0, length, key, h);
      if (allow >> at & 1) v4_.add(view_->v4[1], slot, 1, length, key, h);
    }
  }

  const image::ImageView *view_ = nullptr;
  bool asks_v4_[2] = {false, false};
  std::uint32_t default_v4_[2] = {0, 0};
  std::uint64_t lengths_v6_[2][3] = {};
  Answers answer_ = {};
  Cost cost_;
  unsigned alone_count_ = 0;
  std::array<Alone, slots_max> alone_;
  ProbesV4 v4_;
  ProbesV6 v6_;
};

} // namespace weir::table
