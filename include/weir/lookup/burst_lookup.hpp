// A burst's way through the tables in three stages, so that memory answers while other bursts work:
//
//   begin/ask/send   burst i+2: length maps, hashes, prefetch of table 1 lines
//   probe_first      burst i+1: table 1 answers
//   settle, finish   burst i:   prefetch of table 2 lines where a group bit says so; table 2 answers,
//                               longest match per question
//
// One object is one burst in flight and carries the view that it began with; the view must stay
// valid until finish(). A question costs one probe per prefix length in use for its address, all
// prefetched together; a side with hosts alone does not look at its length map. IPv6 bursts with more
// probes than there is room for answer one question at a time, with the same result. Where a filter
// guards the allow side it is asked first, or, with `confirm: on_conflict`, only about what the deny side
// matched (guarded.hpp); addresses that nothing denies have no allow answer then. Hosts of the deny side may
// have a stacked filter in front of their table, or instead of it (image/deny_stack_view.hpp).
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

#include "weir/image/reader.hpp"
#include "weir/image/view.hpp"
#include "weir/lookup/guarded.hpp"
#include "weir/lookup/kernels.hpp"
#include "weir/lookup/probe_batch.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace weir::lookup {

class BurstLookup {
public:
  static constexpr unsigned slots_max = 64;

  // The stack of denied hosts. Bursts that answer one question at a time are not in it.
  struct StackTally {
    unsigned asked = 0;    // addresses
    unsigned accepted = 0; // of them
    unsigned refuted = 0;  // of these, in front of a table: no table has them
  };

  // What the burst cost, for the planner and for `status`.
  struct Cost {
    unsigned probes = 0;       // (address, length, side) asked of a table
    unsigned second_lines = 0; // of them, how many went on to table 2
    GuardTally guard;
    StackTally stack;
  };

  void begin(const image::ImageView &view, const Kernels &kernels = portable_kernels) noexcept {
    view_ = &view;
    kernels_ = &kernels;
    if (view.family == HashFamily::jhash) [[unlikely]] {
      jhash_kernels_ = with_jhash(kernels);
      kernels_ = &jhash_kernels_;
    }
    const bool late = view.policy.confirm == Confirm::on_conflict;
    stack_ = view.stack.empty() ? nullptr : &view.stack;
    guard_ = view.guard.empty() ? Guard::none : late ? Guard::asked_on_conflict : Guard::asked_first;
    asked_v4_ = asked_v6_ = 0;
    busy_v4_ = busy_v6_ = {};
  }

  void ask_v4(unsigned slot, std::uint32_t wire) noexcept {
    place_[slot] = static_cast<std::uint8_t>(asked_v4_);
    key_v4_[asked_v4_++] = wire;
  }

  void ask_v6(unsigned slot, const std::uint8_t *address) noexcept {
    place_[slot] = static_cast<std::uint8_t>(slots_max + asked_v6_);
    key_v6_[asked_v6_++] = KeyV6::load(address);
  }

  // The first `count` slots ask IPv4 questions; replaces every question asked so far.
  void ask_all_v4(const std::uint32_t *wires, unsigned count) noexcept {
    place_ = in_order;
    std::memcpy(key_v4_.data(), wires, count * sizeof *wires);
    asked_v4_ = count;
    asked_v6_ = 0;
  }
  // The same for IPv6: `addresses` are 16 bytes each, one after the other.
  void ask_all_v6(const void *addresses, unsigned count) noexcept {
    for (unsigned i = 0; i < slots_max; ++i) place_[i] = static_cast<std::uint8_t>(slots_max + i);
    std::memcpy(key_v6_.data(), addresses, count * sizeof(KeyV6));
    asked_v6_ = count;
    asked_v4_ = 0;
  }

  void send() noexcept {
    Targets targets;
    aim(targets);
    targets.prefetch_rest();
    read_late_cells();
  }

  // send(), and probe_first() of the burst ahead: its probes leave time for the lines to be sent for.
  void send_behind(BurstLookup &ahead) noexcept {
    Targets targets;
    aim(targets);
    ahead.probe(targets);
    targets.prefetch_rest();
    read_late_cells();
  }

  void probe_first() noexcept {
    Targets none;
    probe(none);
  }

  // Before the next burst is sent: gives table 2's lines time to come. finish() does it otherwise.
  void settle() noexcept {
    for (unsigned side = 0; side < 2; ++side) {
      if (busy_v4_[side])
        v4_[side].each([&](auto &b) { b.settle(view_->v4[side], *kernels_, answers_v4(side)); });
      if (busy_v6_[side])
        v6_[side].each([&](auto &b) { b.settle(view_->v6[side], *kernels_, answers_v6(side)); });
    }
  }

  void finish() noexcept {
    cost_ = {};
    for (unsigned side = 0; side < 2; ++side) {
      if (busy_v4_[side]) finish_v4(side);
      if (busy_v6_[side]) finish_v6(side);
    }
    if (guard_ == Guard::asked_on_conflict) ask_late();
  }

  [[nodiscard]] std::uint32_t deny(unsigned slot) const noexcept { return answer_[0][place_[slot]]; }
  [[nodiscard]] std::uint32_t allow(unsigned slot) const noexcept { return answer_[1][place_[slot]]; }
  // Of the questions of a family, in the order in which they were asked.
  [[nodiscard]] const std::uint32_t *deny_v4() const noexcept { return answer_[0]; }
  [[nodiscard]] const std::uint32_t *allow_v4() const noexcept { return answer_[1]; }
  [[nodiscard]] const std::uint32_t *deny_v6() const noexcept { return answer_[0] + slots_max; }
  [[nodiscard]] const std::uint32_t *allow_v6() const noexcept { return answer_[1] + slots_max; }
  [[nodiscard]] const image::ImageView *view() const noexcept { return view_; }
  [[nodiscard]] const Cost &cost() const noexcept { return cost_; }

private:
  // What cells read late said of questions, for those that no probe answers.
  class Known {
  public:
    void clear() noexcept { count_ = 0; }
    void add(unsigned question, std::uint32_t value) noexcept {
      question_[count_] = static_cast<std::uint8_t>(question);
      value_[count_] = value;
      count_ += value != 0;
    }
    void give(std::uint32_t *answers) const noexcept {
      for (unsigned n = 0; n < count_; ++n) {
        std::uint32_t &answer = answers[question_[n]];
        if (answer == 0) answer = value_[n];
      }
    }

  private:
    unsigned count_ = 0;
    std::array<std::uint8_t, slots_max> question_;
    std::array<std::uint32_t, slots_max> value_;
  };

  static constexpr auto in_order = [] {
    std::array<std::uint8_t, slots_max> places{};
    for (unsigned i = 0; i < slots_max; ++i) places[i] = static_cast<std::uint8_t>(i);
    return places;
  }();

  [[nodiscard]] std::uint32_t *answers_v4(unsigned side) noexcept { return answer_[side]; }
  [[nodiscard]] std::uint32_t *answers_v6(unsigned side) noexcept { return answer_[side] + slots_max; }

  void aim(Targets &targets) noexcept {
    for (unsigned side = 0; side < 2; ++side) {
      if (asked_v4_ != 0) aim_v4(side, targets);
      if (asked_v6_ != 0) aim_v6(side, targets);
    }
  }

  void probe(Targets &behind) noexcept {
    for (unsigned side = 0; side < 2; ++side) {
      if (busy_v4_[side])
        v4_[side].each([&](auto &b) { b.probe_first(view_->v4[side], *kernels_, answers_v4(side), behind); });
      if (busy_v6_[side])
        v6_[side].each([&](auto &b) { b.probe_first(view_->v6[side], *kernels_, answers_v6(side), behind); });
    }
  }

  static constexpr unsigned allow_side = static_cast<unsigned>(Side::allow);
  [[nodiscard]] const image::DenyStackView *stack_of(unsigned side) const noexcept {
    return side == allow_side ? nullptr : stack_;
  }

  void aim_v4(unsigned side, Targets &targets) noexcept {
    if (side == allow_side && guard_ == Guard::asked_on_conflict) return say_everywhere(side, 0);
    const table::LengthMapV4 &map = view_->lengths_v4[side];
    default_v4_[side] = table::read_acquire(*map.default_value);
    const std::uint32_t lengths = map.lengths();
    if (lengths == 0) return say_everywhere(side, default_v4_[side]);
    busy_v4_[side] = true;
    said_v4_[side] = {};
    v4_[side].clear();
    known_v4_[side].clear();
    read_all_cells_[side] = false;
    if (lengths == table::only_hosts)
      add_hosts(side, [&] { return kernels_->signs(map.signs, key_v4_.data(), asked_v4_).hosts; });
    else
      look_into_cells(side);
    if (side == allow_side && guard_ == Guard::asked_first)
      let_through_v4_ = ask_guard(v4_[side], answers_v4(side));
    v4_[side].each([&](auto &b) { targets.add(b.aim(view_->v4[side], *kernels_, stack_of(side))); });
  }

  // Usually what the burst before said as well: then its answers still stand there.
  void say_everywhere(unsigned side, std::uint32_t value) noexcept {
    if (said_v4_[side] == value) return;
    std::fill_n(answers_v4(side), slots_max, value);
    said_v4_[side] = value;
  }

  // One probe for each length from 17 to 32 in use below an address; what its cell says itself waits
  // until they have answered. Where nearly every cell has hosts, all questions ask for a host, as one array.
  // A few cells that have more to say are sent for, and read when the burst ahead has probed.
  void look_into_cells(unsigned side) noexcept {
    const table::LengthMapV4 &map = view_->lengths_v4[side];
    const CellSigns signs = kernels_->signs(map.signs, key_v4_.data(), asked_v4_);
    const bool as_hosts = 4 * static_cast<unsigned>(std::popcount(signs.hosts)) >= 3 * asked_v4_;
    if (as_hosts)
      add_hosts(side, [&] { return signs.hosts; }); // its probes set every answer
    else
      std::fill_n(answers_v4(side), asked_v4_, 0);
    const std::uint64_t some = as_hosts ? signs.more : signs.more | signs.hosts;
    const std::uint32_t wanted = as_hosts ? ~table::hosts_below : ~std::uint32_t{0};
    const bool guarded = side == allow_side && guard_ == Guard::asked_first;
    if (guarded || std::popcount(some) > late_cells_max) return read_all_cells(side, some, wanted);
    late_[side] = {some, wanted, as_hosts ? 1u : 0u};
    for (std::uint64_t rest = some; rest != 0; rest &= rest - 1)
      __builtin_prefetch(&map.cells[table::LengthMapV4::index(key_v4_[std::countr_zero(rest)])]);
  }

  // Every question asks for a host. A table knows where there are none; a filter that judges is to be asked
  // about addresses alone that have hosts below their /16, whatever the burst.
  void add_hosts(unsigned side, const auto &hosts_below_them) noexcept {
    v4_[side].add_all(key_v4_.data(), asked_v4_, view_->flips_v4[32], 32);
    if (view_->judges_hosts(side)) v4_[side].judge_only(hosts_below_them());
  }

  // All at once; some of the questions have probes of the lengths in `wanted`.
  void read_all_cells(unsigned side, std::uint64_t some, std::uint32_t wanted) noexcept {
    alignas(64) std::array<std::uint32_t, slots_max> lengths;
    kernels_->cells(view_->lengths_v4[side].cells, key_v4_.data(), asked_v4_, short_v4_[side],
                    lengths.data());
    read_all_cells_[side] = true;
    for (; some != 0; some &= some - 1) {
      const auto q = static_cast<unsigned>(std::countr_zero(some));
      add_lengths(side, q, lengths[q] & wanted);
    }
  }

  void read_late_cells() noexcept {
    for (unsigned side = 0; side < 2; ++side) {
      Late &late = late_[side];
      if (late.questions == 0) continue;
      for (; late.questions != 0; late.questions &= late.questions - 1) {
        const auto q = static_cast<unsigned>(std::countr_zero(late.questions));
        const table::CellAnswer known = table::ask_cell(view_->lengths_v4[side].cell(key_v4_[q]), key_v4_[q]);
        known_v4_[side].add(q, known.value);
        add_lengths(side, q, known.lengths & late.wanted);
      }
      Targets targets;
      v4_[side].each_from(late.first_batch,
                          [&](auto &b) { targets.add(b.aim(view_->v4[side], *kernels_, stack_of(side))); });
      targets.prefetch_rest();
    }
  }

  void add_lengths(unsigned side, unsigned q, std::uint32_t lengths) noexcept {
    for (; lengths != 0; lengths &= lengths - 1) {
      const unsigned length = static_cast<unsigned>(std::countr_zero(lengths)) + table::short_length_max + 1;
      v4_[side].add(key_v4_[q] & wire_mask_v4(length), view_->flips_v4[length], length, q);
    }
  }

  void finish_v4(unsigned side) noexcept {
    std::uint32_t *answers = answers_v4(side);
    v4_[side].each([&](auto &b) {
      b.finish(view_->v4[side], *kernels_, answers);
      count(b, side);
    });
    if (side == allow_side && guard_ == Guard::asked_first)
      tally(let_through_v4_, asked_v4_, answers_v4(0), answers);
    if (stack_of(side) != nullptr) tally_stack(v4_[side], answers);
    known_v4_[side].give(answers);
    if (read_all_cells_[side]) kernels_->or_else(answers, short_v4_[side], asked_v4_);
    if (default_v4_[side] == 0) return;
    for (unsigned q = 0; q < asked_v4_; ++q)
      if (answers[q] == 0) answers[q] = default_v4_[side];
  }

  // Returns the questions that keep a probe.
  template <class Batches>
  [[nodiscard]] std::uint64_t ask_guard(Batches &batches, std::uint32_t *answers) noexcept {
    std::uint64_t questions = 0;
    batches.each([&](auto &b) {
      if (b.any()) questions |= b.ask_guard(view_->guard, *kernels_, answers);
    });
    return questions;
  }

  void aim_v6(unsigned side, Targets &targets) noexcept {
    const table::LengthsV6 &in_use = view_->lengths_v6[side];
    auto &batches = v6_[side];
    batches.clear();
    crowded_v6_[side] = false;
    if (in_use.none() || (side == allow_side && guard_ == Guard::asked_on_conflict)) {
      std::fill_n(answers_v6(side), asked_v6_, 0);
      return;
    }
    busy_v6_[side] = true;
    if (in_use.only_hosts()) {
      batches.add_all(key_v6_.data(), asked_v6_, view_->seeds_v6[128], 128);
      return aim_probes_v6(side, targets);
    }
    std::fill_n(answers_v6(side), asked_v6_, 0);
    for (unsigned w = 0; w < 3; ++w) {
      for (std::uint64_t rest = in_use.word(w); rest != 0; rest &= rest - 1) {
        const unsigned length = w * 64 + static_cast<unsigned>(std::countr_zero(rest));
        if (!batches.has_room_for(asked_v6_)) {
          crowded_v6_[side] = true;
          batches.clear();
          return;
        }
        add_length_v6(side, length);
      }
    }
    aim_probes_v6(side, targets);
  }

  void aim_probes_v6(unsigned side, Targets &targets) noexcept {
    if (side == allow_side && guard_ == Guard::asked_first)
      let_through_v6_ = ask_guard(v6_[side], answers_v6(side));
    v6_[side].each([&](auto &b) { targets.add(b.aim(view_->v6[side], *kernels_, stack_of(side))); });
  }

  void add_length_v6(unsigned side, unsigned length) noexcept {
    const KeyV6 mask = table::key_mask_v6(length);
    for (unsigned q = 0; q < asked_v6_; ++q) {
      const KeyV6 &whole = key_v6_[q];
      v6_[side].add({whole.low & mask.low, whole.high & mask.high}, view_->seeds_v6[length], length, q);
    }
  }

  void finish_v6(unsigned side) noexcept {
    v6_[side].each([&](auto &b) {
      b.finish(view_->v6[side], *kernels_, answers_v6(side));
      count(b, side);
    });
    if (!crowded_v6_[side]) {
      if (stack_of(side) != nullptr) tally_stack(v6_[side], answers_v6(side));
      if (side == allow_side && guard_ == Guard::asked_first)
        tally(let_through_v6_, asked_v6_, answers_v6(0), answers_v6(side));
      return;
    }
    for (unsigned q = 0; q < asked_v6_; ++q)
      answers_v6(side)[q] = image::lookup_v6(*view_, static_cast<Side>(side), &key_v6_[q]);
  }

  template <class Line> void tally_stack(ProbeBatches<Line> &batches, const std::uint32_t *answers) noexcept {
    batches.each([&](const ProbeBatch<Line> &b) {
      cost_.stack.asked += b.asked_stack();
      cost_.stack.accepted += b.accepted_by_stack();
      if (b.accepted_by_stack() != 0 && !stack_->judges()) cost_.stack.refuted += b.refuted(answers);
    });
  }

  template <class Batch> void count(const Batch &batch, unsigned side) noexcept {
    cost_.probes += batch.asked_table();
    cost_.second_lines += batch.second_lines();
    if (side == allow_side) cost_.guard.table_asked += batch.asked_table();
  }

  [[nodiscard]] static std::uint64_t first_questions(unsigned count) noexcept {
    return count == 0 ? 0 : ~std::uint64_t{0} >> (slots_max - count);
  }

  // The deny side has answered, the allow side's tables as well.
  void tally(std::uint64_t let_through, unsigned asked, const std::uint32_t *denied,
             const std::uint32_t *allowed) noexcept {
    cost_.guard.add(first_questions(asked), let_through, kernels_->listed(allowed, asked),
                    kernels_->listed(denied, asked));
  }

  // Asks what was put off: everything that the deny side matched, and in one burst of 64 the rest too,
  // for the rates alone.
  void ask_late() noexcept {
    const bool sampled = ++finished_ % 64 == 0;
    if (asked_v4_ != 0)
      ask_late<LineV4>(key_v4_.data(), asked_v4_, sampled, answers_v4(0), answers_v4(allow_side));
    if (asked_v6_ != 0)
      ask_late<LineV6>(key_v6_.data(), asked_v6_, sampled, answers_v6(0), answers_v6(allow_side));
  }

  template <class Line>
  void ask_late(const typename Line::Key *keys, unsigned count, bool sampled, const std::uint32_t *deny,
                std::uint32_t *answers) noexcept {
    const std::uint64_t denied = kernels_->listed(deny, count);
    const std::uint64_t questions = sampled ? first_questions(count) : denied;
    if (questions == 0) return;
    if constexpr (Line::family == Family::ipv4) said_v4_[allow_side].reset(); // no longer all alike
    GuardedQuestions<Line>(*view_, *kernels_).ask(keys, questions, denied, answers, cost_.guard);
    for (std::uint64_t rest = questions & ~denied; rest != 0; rest &= rest - 1)
      answers[std::countr_zero(rest)] = 0;
  }

  const image::ImageView *view_ = nullptr;
  const Kernels *kernels_ = &portable_kernels;
  Kernels jhash_kernels_ = portable_kernels;    // while kernels_ says so
  const image::DenyStackView *stack_ = nullptr; // the view's, unless that is empty
  unsigned asked_v4_ = 0, asked_v6_ = 0;
  std::uint32_t default_v4_[2] = {};
  bool crowded_v6_[2] = {};
  std::array<bool, 2> busy_v4_{}, busy_v6_{};    // sides that have something to look up
  std::optional<std::uint32_t> said_v4_[2] = {}; // all answers of a side are this
  enum class Guard : std::uint8_t { none, asked_first, asked_on_conflict };
  Guard guard_ = Guard::none;
  unsigned finished_ = 0;                                 // bursts, to sample some
  std::uint64_t let_through_v4_ = 0, let_through_v6_ = 0; // questions whose probes the guard accepted
  Cost cost_;
  std::array<std::uint8_t, slots_max> place_{}; // of a slot's question in answer_[side]
  alignas(64) std::array<std::uint32_t, slots_max> key_v4_{};
  alignas(64) std::array<KeyV6, slots_max> key_v6_{};
  alignas(64) std::uint32_t answer_[2][2 * slots_max] = {}; // IPv4 questions, then IPv6 questions
  static constexpr int late_cells_max = 16; // more of them: their lines are to be sent for in turn
  struct Late { // questions whose cells are on their way, and where their probes go
    std::uint64_t questions = 0;
    std::uint32_t wanted = 0; // lengths
    unsigned first_batch = 0;
  };
  Late late_[2];
  bool read_all_cells_[2] = {}; // short_v4_ is set
  alignas(64) std::uint32_t short_v4_[2][slots_max] = {};
  Known known_v4_[2];
  ProbeBatches<LineV4> v4_[2]; // 64 questions of at most 16 lengths
  ProbeBatches<LineV6> v6_[2];
};

} // namespace weir::lookup
