// A burst's way through the tables in stages, so that memory answers while other bursts work:
//
//   begin/ask/send    burst i+2   length maps, hashes, prefetch of table 1 lines
//   probe_first       burst i+1   table 1 answers
//   settle, finish    burst i     prefetch of table 2 lines where a group bit says so; table 2 answers,
//                                 longest match per question
//
// Where a range map has prefixes and its side no table of hosts, two more bursts are under way, and finish() comes two
// bursts later:
//
//   probe_prefixes    burst i-1   first lines of the range maps answer (prefix_questions.hpp)
//   finish            burst i-2
//
// One object is one burst in flight and carries the view that it began with; the view must stay valid until
// finish(), and so must a burst that was sent behind it. A question costs one probe of the table of hosts and,
// where its part of the addresses has prefixes, a line or a few of the range map (prefix_questions.hpp). In an
// image without range maps it costs one probe per prefix length in use for its address, all
// prefetched together; a side with hosts alone does not look at its length map. IPv6 bursts with more
// probes than there is room for answer one question at a time, with the same result. A deny side of one structure goes
// short ways (family_lookup.hpp), whatever the allow side has. Where the
// allow side has a filter it is asked first, or, with `confirm: on_conflict`, only about what the deny side
// matched (allow_questions.hpp); addresses that nothing denies have no allow answer then. Hosts of the deny
// side may have a stacked filter in front of their table, or instead of it (image/deny_filter_view.hpp).
//
//   BurstLookup burst;                    // about 300 KiB, most of it untouched: not on the stack
//   burst.begin(view, kernels);
//   burst.ask_v4(slot, wire);             // slot 0..63, each at most once, in any order
//   burst.ask_v6(slot, sixteen_bytes);
//   burst.send();                         // no questions after this
//   burst.probe_first();                  // or, for both at once: burst.send_behind(burst_ahead), which also
//                                         // settles and probes for prefixes what is further ahead
//   burst.settle();                       // for speed, when nothing is sent behind it
//   burst.finish();                       // in the order in which bursts were sent
//   burst.allow(slot), burst.deny(slot)   // 32-bit table values, 0 = no match
#pragma once

#include "weir/lookup/lookup_v4.hpp"
#include "weir/lookup/lookup_v6.hpp"

#include <type_traits>

namespace weir::lookup {

class BurstLookup {
public:
  static constexpr unsigned slots_max = questions_max;
  using Cost = LookupCost;

  // How many bursts are best under way at once, the newest included. Range maps alone gain by two more; beside
  // tables of hosts these cost more than they bring (docs/decisions.md).
  static constexpr unsigned in_flight_max = 5;
  [[nodiscard]] static unsigned in_flight(const image::ImageView &view) noexcept {
    return has_prefixes_alone(view.ranges_v4) || has_prefixes_alone(view.ranges_v6) ? in_flight_max : 3;
  }

  void begin(const image::ImageView &view, const Kernels &kernels = portable_kernels) noexcept {
    follower_ = ahead_ = nullptr;
    place_ = own_places_.data();
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
    own_places_[slot] = static_cast<std::uint8_t>(v4_.ask(wire));
  }

  void ask_v6(unsigned slot, const std::uint8_t *address) noexcept {
    own_places_[slot] = static_cast<std::uint8_t>(slots_max + v6_.ask(table::KeyV6::load(address)));
  }

  // The first `count` slots ask IPv4 questions; replaces every question asked so far. The wires stay as they are
  // until finish().
  void ask_all_v4(const std::uint32_t *wires, unsigned count) noexcept { ask_all(wires, count, nullptr, 0); }
  // The same for IPv6: `addresses` are 16 bytes each, one after the other, and stay as well.
  void ask_all_v6(const void *addresses, unsigned count) noexcept { ask_all(nullptr, 0, addresses, count); }
  // Both; at most slots_max in sum. Where both families ask, answers are read by family: no slot has a question.
  void ask_all(const std::uint32_t *wires, unsigned v4, const void *addresses, unsigned v6) noexcept {
    place_ = v6 == 0 ? v4_in_order.data() : v6_in_order.data();
    if (v4 != 0)
      v4_.ask_all(wires, v4);
    else
      v4_.ask_nothing();
    if (v6 != 0)
      v6_.ask_all(addresses, v6);
    else
      v6_.ask_nothing();
  }

  void send() noexcept {
    Targets targets;
    aim(targets);
    targets.prefetch_rest();
    read_late_cells();
  }

  // send(), and probe_first() of the burst ahead: the lines are prefetched between its probes. Bursts further
  // ahead that are not finished go on by a stage.
  void send_behind(BurstLookup &ahead) noexcept {
    BurstLookup *const second = ahead.ahead_, *const third = second != nullptr ? second->ahead_ : nullptr;
    if (second != nullptr) second->settle();
    Targets targets;
    aim(targets);
    ahead.follower_ = this;
    ahead_ = &ahead;
    ahead.probe(targets);
    targets.prefetch_rest();
    read_late_cells();
    if (third != nullptr) third->probe_prefixes(&ahead, this, third->ahead_);
  }

  void probe_first() noexcept {
    Targets none;
    probe(none);
  }

  // Gives table 2's lines time to come. finish() does it otherwise.
  void settle() noexcept {
    by_way([&](auto &family) { family.settle_hosts(burst_); }, [](auto &) {},
           [&](auto &family, Side side) { family.settle(burst_, side); });
  }

  void finish() noexcept {
    burst_.cost = {};
    if (alone_ != Alone::hosts_v4)
      probe_prefixes(follower_, follower_ != nullptr ? follower_->follower_ : nullptr, nullptr);
    if (follower_ != nullptr) follower_->ahead_ = nullptr;
    by_way([&](auto &family) { family.finish_hosts(burst_); },
           [&](auto &family) { family.finish_prefixes(burst_, holder_of(family, Side::deny)); },
           [&](auto &family, Side side) { family.finish(burst_, side, holder_of(family, side)); });
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
  [[nodiscard]] std::uint32_t *deny_v4() noexcept {
    return v4_.answers(burst_, Side::deny);
  } // to name lists in
  [[nodiscard]] const std::uint32_t *allow_v4() const noexcept { return v4_.answers(burst_, Side::allow); }
  [[nodiscard]] const std::uint32_t *deny_v6() const noexcept { return v6_.answers(burst_, Side::deny); }
  [[nodiscard]] std::uint32_t *deny_v6() noexcept { return v6_.answers(burst_, Side::deny); }
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

  // Most bursts ask one family, and of its deny side one structure: no stage looks at anything else of them.
  enum class Alone : std::uint8_t { none, hosts_v4, prefixes_v4, prefixes_v6 };

  template <class Stage> [[gnu::always_inline]] void each_family(Stage stage) noexcept {
    if (v4_.asked() != 0) stage(v4_);
    if (v6_.asked() != 0) stage(v6_);
  }
  // A stage of deny sides on a short way, hosts(family) and prefixes(family), and of sides on the general way, busy(family,
  // side): that of denials answers first, and a side that the compiler knows makes a stage shorter.
  template <class Hosts, class Prefixes, class Busy>
  [[gnu::always_inline]] void by_way(Hosts hosts, Prefixes prefixes, Busy busy) noexcept {
    switch (alone_) {
    case Alone::hosts_v4: return hosts(v4_);
    case Alone::prefixes_v4: return prefixes(v4_);
    case Alone::prefixes_v6: return prefixes(v6_);
    case Alone::none: break;
    }
    each_family([&](auto &family) {
      if constexpr (std::remove_reference_t<decltype(family)>::is_v4)
        if (has(family.way(), Way::hosts)) hosts(family);
      if (has(family.way(), Way::prefixes)) prefixes(family);
      if (family.is_busy(Side::deny)) busy(family, Side::deny);
      if (family.is_busy(Side::allow)) busy(family, Side::allow);
    });
  }

  void aim(Targets &targets) noexcept {
    each_family([&](auto &family) {
      family.choose_way(burst_);
      if (family.way() == Way::hosts)
        family.aim_hosts(burst_, targets);
      else if (family.way() == Way::prefixes)
        family.aim_prefixes(burst_);
      else
        family.aim(burst_, Side::deny, targets);
      if (family.way() == Way::general || !family.answer_where_nothing_is_listed(burst_, Side::allow))
        family.aim(burst_, Side::allow, targets);
    });
    alone_ = what_asks_alone();
  }
  [[nodiscard]] Alone what_asks_alone() const noexcept {
    if (v6_.asked() == 0) {
      if (v4_.is_busy(Side::allow)) return Alone::none;
      return v4_.way() == Way::hosts      ? Alone::hosts_v4
             : v4_.way() == Way::prefixes ? Alone::prefixes_v4
                                          : Alone::none;
    }
    const bool prefixes = v4_.asked() == 0 && v6_.way() == Way::prefixes && !v6_.is_busy(Side::allow);
    return prefixes ? Alone::prefixes_v6 : Alone::none;
  }
  void read_late_cells() noexcept {
    if (alone_ == Alone::none && v4_.has_late_cells()) v4_.read_late_cells(burst_);
  }
  void probe(Targets &behind) noexcept {
    by_way([&](auto &family) { family.probe_hosts(burst_, behind); },
           [&](auto &family) { family.locate_prefixes(burst_, Side::deny); },
           [&](auto &family, Side side) {
             family.locate_prefixes(burst_, side);
             family.probe(burst_, side, behind);
           });
  }

  // A family of which some side has prefixes, and none has hosts.
  [[nodiscard]] static bool has_prefixes_alone(const auto &maps) noexcept {
    std::uint32_t in_use = 0;
    for (const Side side : both_sides)
      if (!maps[side].empty()) in_use |= maps[side].in_use();
    return in_use == table::range_prefixes;
  }

  // Of a burst, or null.
  [[nodiscard]] static auto *same_family(auto *burst, const LookupV4 & /*family*/) noexcept {
    return burst != nullptr ? &burst->v4_ : nullptr;
  }
  [[nodiscard]] static auto *same_family(auto *burst, const LookupV6 & /*family*/) noexcept {
    return burst != nullptr ? &burst->v6_ : nullptr;
  }

  // Of this burst and those behind, the one that has what this one's questions had left.
  [[nodiscard]] auto *holder_of(auto &family, Side side) noexcept {
    auto *holder = &family;
    for (BurstLookup *b = follower_; b != nullptr && same_family(b, family)->took_over(side);
         b = b->follower_)
      holder = same_family(b, family);
    return holder;
  }

  // `located`, `asked`: bursts behind; `ahead`: not finished; or null.
  void probe_prefixes(const BurstLookup *located, const BurstLookup *asked, BurstLookup *ahead) noexcept {
    const auto probe = [&](auto &family, Side side) {
      family.probe_prefixes(burst_, side, same_family(located, family), same_family(asked, family),
                            same_family(ahead, family));
    };
    by_way([](auto &) {}, [&](auto &family) { probe(family, Side::deny); },
           [&](auto &family, Side side) { probe(family, side); });
  }

  BurstState burst_;
  Kernels jhash_kernels_ = portable_kernels; // while burst_.kernels says so
  unsigned finished_ = 0;                    // bursts, to sample some
  BurstLookup *follower_ = nullptr;          // sent behind this one, as long as this one is in flight
  BurstLookup *ahead_ = nullptr;             // behind which this one was sent, as long as that is in flight
  Alone alone_ = Alone::none;
  const std::uint8_t *place_ = nullptr; // of a slot's question among the answers of a side
  Places own_places_{};
  LookupV4 v4_;
  LookupV6 v6_;
};

} // namespace weir::lookup
