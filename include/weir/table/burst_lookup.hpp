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

  // What bursts cost, for the planner and for `status`: lines of table 1 and 2 touched.
  struct Cost {
    std::uint64_t probes = 0;       // (address, length, side) asked of a table
    std::uint64_t second_lines = 0; // of them, how many went on to table 2
  };

  void begin(const image::ImageView &view) noexcept {
    view_ = &view;
    v4_.count = v6_.count = alone_count_ = 0;
    for (unsigned side = 0; side < 2; ++side) {
      v4_.asks_overlay[side] = !view.v4[side].overlay.empty();
      v6_.asks_overlay[side] = !view.v6[side].overlay.empty();
      asks_v4_[side] = !view.lengths_v4[side].empty();
      default_v4_[side] = read_acquire(*view.lengths_v4[side].default_value);
      for (unsigned w = 0; w < 3; ++w) lengths_v6_[side][w] = view.lengths_v6[side].word(w);
    }
  }

  void ask_v4(unsigned slot, std::uint32_t wire) noexcept {
    std::uint32_t lengths[2] = {0, 0};
    for (unsigned side = 0; side < 2; ++side) {
      answer_[side][slot] = 0;
      if (!asks_v4_[side]) continue;
      const std::uint64_t cell = view_->lengths_v4[side].cell(wire);
      lengths[side] = long_lengths(cell);
      answer_[side][slot] = short_value(cell) != 0 ? short_value(cell) : default_v4_[side];
    }
    const std::uint32_t both = lengths[0] | lengths[1];
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
      for (unsigned side = 0; side < 2; ++side)
        if (lengths[side] >> at & 1) v4_.add(view_->v4[side], slot, side, length, key, h);
    }
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
    v4_.probe_first(view_->v4);
    v6_.probe_first(view_->v6);
  }

  void finish() noexcept {
    cost_.probes += v4_.count + v6_.count;
    cost_.second_lines += v4_.finish(view_->v4, answer_) + v6_.finish(view_->v6, answer_);
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
  enum class State : std::uint8_t { first, front, second, done };

  template <class Line, unsigned Capacity> struct Probes {
    static constexpr unsigned capacity = Capacity;
    using Key = typename Line::Key;
    using Sides = image::SideView<Line>;
    struct Probe {
      Key key;
      KeyHash hash;
      std::uint32_t value;
      std::uint8_t slot, side, length;
      State state;
    };

    void add(const Sides &view, unsigned slot, unsigned side, unsigned length, const Key &key,
             KeyHash h) noexcept {
      const bool fronted = !view.front.empty();
      if (fronted)
        view.front.prefetch(h);
      else
        view.table.prefetch1(h);
      probe[count++] = {key,
                        h,
                        0,
                        static_cast<std::uint8_t>(slot),
                        static_cast<std::uint8_t>(side),
                        static_cast<std::uint8_t>(length),
                        fronted ? State::front : State::first};
    }

    // The overlay's word is final; else the front filter may end it; else table 1 answers or names table 2.
    void first(const Sides &view, Probe &p) const noexcept {
      if (asks_overlay[p.side]) [[unlikely]] {
        if (const std::uint32_t v = view.overlay.find(p.key, p.length, p.hash)) {
          p.value = is_tombstone(v) ? 0 : v;
          p.state = State::done;
          return;
        }
      }
      if (p.state == State::front) {
        if (view.front.contains(p.hash))
          view.table.prefetch1(p.hash);
        else
          p.state = State::done;
        return;
      }
      probe_table1(view, p);
    }

    static void probe_table1(const Sides &view, Probe &p) noexcept {
      p.value = view.table.find1(p.key, p.length, p.hash);
      p.state = State::done;
      if (p.value != 0) return;
      compiler_fence();
      if (!view.table.may_be_in2(p.hash)) return;
      view.table.prefetch2(p.hash);
      p.state = State::second;
    }

    void probe_first(const Sides *views) noexcept {
      for (unsigned i = 0; i < count; ++i) first(views[probe[i].side], probe[i]);
    }

    unsigned finish(const Sides *views, std::uint32_t (&answer)[2][slots_max]) noexcept {
      unsigned second_lines = 0;
      for (unsigned i = 0; i < count; ++i) // behind a front filter table 1 is asked only now
        if (probe[i].state == State::front) probe_table1(views[probe[i].side], probe[i]);
      for (unsigned i = 0; i < count; ++i) {
        Probe &p = probe[i];
        if (p.state == State::second) {
          p.value = views[p.side].table.find2(p.key, p.length, p.hash);
          ++second_lines;
        }
        std::uint32_t &best = answer[p.side][p.slot];
        const bool longer = best == 0 || image::value::length_of(p.value) >= image::value::length_of(best);
        if (p.value != 0 && longer) best = p.value;
      }
      return second_lines;
    }

    unsigned count = 0;
    bool asks_overlay[2] = {false, false};
    std::array<Probe, Capacity> probe;
  };
  using ProbesV4 = Probes<LineV4, 1024>;
  using ProbesV6 = Probes<LineV6, 1024>;

  struct Alone { // a question that found no room
    std::uint8_t slot;
    Family family;
    std::uint32_t wire;
    const std::uint8_t *address;
  };

  const image::ImageView *view_ = nullptr;
  bool asks_v4_[2] = {false, false};
  std::uint32_t default_v4_[2] = {0, 0};
  std::uint64_t lengths_v6_[2][3] = {};
  std::uint32_t answer_[2][slots_max] = {};
  Cost cost_;
  unsigned alone_count_ = 0;
  std::array<Alone, slots_max> alone_;
  ProbesV4 v4_;
  ProbesV6 v6_;
};

} // namespace weir::table
