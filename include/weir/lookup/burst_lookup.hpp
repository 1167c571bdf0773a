// A burst's way through the tables in three stages, so that memory answers while other bursts work:
//
//   begin/ask/send   burst i+2: length maps, hashes, prefetch of table 1 lines
//   probe_first      burst i+1: table 1 answers
//   settle, finish   burst i:   prefetch of table 2 lines where a group bit says so; table 2 answers,
//                               longest match per question
//
// One object is one burst in flight and carries the view that it began with; the view must stay valid until
// finish(), and so must a burst that was sent behind it. A question costs one probe of the table of hosts and,
// where its part of the addresses has prefixes, a line or a few of the range map (prefix_questions.hpp). In an
// image without range maps it costs one probe per prefix length in use for its address, all
// prefetched together; a side with hosts alone does not look at its length map. IPv6 bursts with more
// probes than there is room for answer one question at a time, with the same result. Where the
// allow side has a filter it is asked first, or, with `confirm: on_conflict`, only about what the deny side
// matched (allow_questions.hpp); addresses that nothing denies have no allow answer then. Hosts of the deny
// side may have a stacked filter in front of their table, or instead of it (image/deny_filter_view.hpp).
//
//   BurstLookup burst;                    // about 200 KiB, most of it untouched: not on the stack
//   burst.begin(view, kernels);
//   burst.ask_v4(slot, wire);             // slot 0..63, each at most once, in any order
//   burst.ask_v6(slot, sixteen_bytes);
//   burst.send();                         // no questions after this
//   burst.probe_first();                  // or, for both at once: burst.send_behind(burst_ahead)
//   burst.settle();                       // before the next burst is sent, for speed
//   burst.finish();
//   burst.allow(slot), burst.deny(slot)   // 32-bit table values, 0 = no match
#pragma once

#include "weir/lookup/lookup_v4.hpp"
#include "weir/lookup/lookup_v6.hpp"

namespace weir::lookup {

class BurstLookup {
public:
  static constexpr unsigned slots_max = questions_max;
  using Cost = LookupCost;

  void begin(const image::ImageView &view, const Kernels &kernels = portable_kernels) noexcept {
    follower_ = nullptr;
    burst_.view = &view;
    burst_.kernels = &kernels;
    if (view.family == HashFamily::jhash) [[unlikely]] {
      jhash_kernels_ = with_jhash(kernels);
      burst_.kernels = &jhash_kernels_;
    }
    const bool late = view.policy.confirm == Confirm::on_conflict;
    burst_.stack = view.deny_filter.empty() ? nullptr : &view.deny_filter;
    burst_.order = view.allow_filter.empty() ? AllowFilterOrder::none
                   : late                    ? AllowFilterOrder::on_conflict
                                             : AllowFilterOrder::first;
    v4_.begin();
    v6_.begin();
  }

  void ask_v4(unsigned slot, std::uint32_t wire) noexcept {
    place_[slot] = static_cast<std::uint8_t>(v4_.ask(wire));
  }

  void ask_v6(unsigned slot, const std::uint8_t *address) noexcept {
    place_[slot] = static_cast<std::uint8_t>(slots_max + v6_.ask(table::KeyV6::load(address)));
  }

  // The first `count` slots ask IPv4 questions; replaces every question asked so far.
  void ask_all_v4(const std::uint32_t *wires, unsigned count) noexcept {
    place_ = v4_in_order;
    v4_.ask_all(wires, count);
    v6_.ask_nothing();
  }
  // The same for IPv6: `addresses` are 16 bytes each, one after the other.
  void ask_all_v6(const void *addresses, unsigned count) noexcept {
    place_ = v6_in_order;
    v6_.ask_all(addresses, count);
    v4_.ask_nothing();
  }

  void send() noexcept {
    Targets targets;
    aim(targets);
    targets.prefetch_rest();
    v4_.read_late_cells(burst_);
  }

  // send(), and probe_first() of the burst ahead: the lines are prefetched between its probes.
  void send_behind(BurstLookup &ahead) noexcept {
    Targets targets;
    aim(targets);
    ahead.follower_ = this;
    ahead.probe(targets);
    targets.prefetch_rest();
    v4_.read_late_cells(burst_);
  }

  void probe_first() noexcept {
    Targets none;
    probe(none);
  }

  // Before the next burst is sent: gives table 2's lines time to come. finish() does it otherwise.
  void settle() noexcept {
    for (const Side side : both_sides) {
      v4_.settle(burst_, side);
      v6_.settle(burst_, side);
    }
  }

  void finish() noexcept {
    burst_.cost = {};
    const BurstLookup *const next = follower_, *const after = next != nullptr ? next->follower_ : nullptr;
    for (const Side side : both_sides) {
      v4_.finish(burst_, side, next != nullptr ? &next->v4_ : nullptr,
                 after != nullptr ? &after->v4_ : nullptr);
      v6_.finish(burst_, side, next != nullptr ? &next->v6_ : nullptr,
                 after != nullptr ? &after->v6_ : nullptr);
    }
    if (burst_.order != AllowFilterOrder::on_conflict) return;
    const bool sampled = ++finished_ % 64 == 0;
    if (v4_.asked() != 0) v4_.ask_late(burst_, sampled);
    if (v6_.asked() != 0) v6_.ask_late(burst_, sampled);
  }

  [[nodiscard]] std::uint32_t deny(unsigned slot) const noexcept {
    return burst_.answers[Side::deny][place_[slot]];
  }
  [[nodiscard]] std::uint32_t allow(unsigned slot) const noexcept {
    return burst_.answers[Side::allow][place_[slot]];
  }
  // Of the questions of a family, in the order in which they were asked.
  [[nodiscard]] const std::uint32_t *deny_v4() const noexcept { return v4_.answers(burst_, Side::deny); }
  [[nodiscard]] const std::uint32_t *allow_v4() const noexcept { return v4_.answers(burst_, Side::allow); }
  [[nodiscard]] const std::uint32_t *deny_v6() const noexcept { return v6_.answers(burst_, Side::deny); }
  [[nodiscard]] const std::uint32_t *allow_v6() const noexcept { return v6_.answers(burst_, Side::allow); }
  [[nodiscard]] const image::ImageView *view() const noexcept { return burst_.view; }
  [[nodiscard]] const Cost &cost() const noexcept { return burst_.cost; }

private:
  using Places = std::array<std::uint8_t, slots_max>;
  static constexpr auto places_from = [](unsigned first) {
    Places places{};
    for (unsigned i = 0; i < slots_max; ++i) places[i] = static_cast<std::uint8_t>(first + i);
    return places;
  };
  static constexpr Places v4_in_order = places_from(0), v6_in_order = places_from(slots_max);

  void aim(Targets &targets) noexcept {
    for (const Side side : both_sides) {
      if (v4_.asked() != 0) v4_.aim(burst_, side, targets);
      if (v6_.asked() != 0) v6_.aim(burst_, side, targets);
    }
  }
  void probe(Targets &behind) noexcept {
    for (const Side side : both_sides) {
      v4_.locate_prefixes(burst_, side);
      v6_.locate_prefixes(burst_, side);
      v4_.probe(burst_, side, behind);
      v6_.probe(burst_, side, behind);
    }
  }

  BurstState burst_;
  Kernels jhash_kernels_ = portable_kernels; // while burst_.kernels says so
  unsigned finished_ = 0;                    // bursts, to sample some
  BurstLookup *follower_ = nullptr;          // sent behind this one, as long as this one is in flight
  Places place_{};                           // of a slot's question among the answers of a side
  LookupV4 v4_;
  LookupV6 v6_;
};

} // namespace weir::lookup
