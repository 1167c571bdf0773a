// A burst's questions of one address family: their probes on both sides and their answers. What both families
// do alike stands here; LookupV4 and LookupV6 know which prefix lengths a question has to be asked at. The
// stages are those of burst_lookup.hpp.
#pragma once

#include "weir/image/view.hpp"
#include "weir/key/side.hpp"
#include "weir/lookup/allow_questions.hpp"
#include "weir/lookup/kernels.hpp"
#include "weir/lookup/prefix_questions.hpp"
#include "weir/lookup/probe_batch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace weir::lookup {

inline constexpr unsigned questions_max = 64; // of a burst

// When the filter in front of the allow tables is asked.
enum class AllowFilterOrder : std::uint8_t { none, first, on_conflict };

// How the deny side of a family goes through the stages. Of most bursts one structure there has a say: what else may have one
// costs a third of a lookup to be found silent in every stage. The allow side goes the general way, if it has any question.
enum class Way : std::uint8_t { general = 0, hosts = 1, prefixes = 2, both = 3 };
[[nodiscard]] constexpr bool has(Way way, Way part) noexcept {
  return (static_cast<unsigned>(way) & static_cast<unsigned>(part)) != 0;
}

// The stack of denied hosts. Bursts that answer one question at a time are not in it.
struct DenyFilterTally {
  unsigned asked = 0;    // addresses
  unsigned accepted = 0; // of `asked`
  unsigned refuted = 0;  // of `accepted`, in front of a table: no table has them
};

// What a burst cost, for the planner and for `status`.
struct LookupCost {
  unsigned probes = 0;       // (address, length, side) asked of a table
  unsigned second_lines = 0; // of `probes`, how many went on to table 2
  AllowFilterTally allow_filter;
  DenyFilterTally deny_filter;
};

// What both families of a burst in flight share.
struct BurstState {
  const image::ImageView *view = nullptr;
  const Kernels *kernels = &portable_kernels;
  const image::DenyFilterView *stack = nullptr; // the view's, unless that is empty
  AllowFilterOrder order = AllowFilterOrder::none;
  LookupCost cost;
  alignas(64) PerSide<std::array<std::uint32_t, 2 * questions_max>> answers{}; // IPv4 questions, then IPv6's

  [[nodiscard]] const image::DenyFilterView *stack_of(Side side) const noexcept {
    return side == Side::deny ? stack : nullptr;
  }
  [[nodiscard]] bool filter_first(Side side) const noexcept {
    return side == Side::allow && order == AllowFilterOrder::first;
  }
  // Such a side is asked when the deny side has answered.
  [[nodiscard]] bool waits(Side side) const noexcept {
    return side == Side::allow && order == AllowFilterOrder::on_conflict;
  }
};

template <class LineType> class FamilyLookup {
public:
  using Line = LineType;
  using Key = typename Line::Key;
  static constexpr Family family = Line::family;
  static constexpr bool is_v4 = family == Family::ipv4;

  using Map = std::conditional_t<is_v4, table::RangeMapV4, table::RangeMapV6>;

  void begin() noexcept {
    asked_ = 0;
    way_ = Way::general;
    keys_ = own_keys_.data();
    busy_ = {};
    for (const Side side : both_sides) prefixes_[side].clear();
  }
  // The number of the new question.
  unsigned ask(const Key &key) noexcept {
    own_keys_[asked_] = key;
    return asked_++;
  }
  // Replaces every question asked so far. To copy 64 keys of IPv6 costs a quarter of what they cost to look up.
  void ask_all(const void *keys, unsigned count) noexcept {
    keys_ = static_cast<const Key *>(keys);
    if (!can_stay(keys, count)) [[unlikely]] {
      std::memcpy(own_keys_.data(), keys, count * sizeof(Key));
      keys_ = own_keys_.data();
    }
    asked_ = count;
  }
  void ask_nothing() noexcept { asked_ = 0; }
  [[nodiscard]] unsigned asked() const noexcept { return asked_; }
  [[nodiscard]] Way way() const noexcept { return way_; }
  // Has something to look up on the general way. After aim().
  [[nodiscard]] bool is_busy(Side side) const noexcept { return busy_[side]; }

  [[nodiscard]] static std::uint32_t *answers(BurstState &burst, Side side) noexcept {
    return burst.answers[side].data() + (is_v4 ? 0 : questions_max);
  }
  [[nodiscard]] static const std::uint32_t *answers(const BurstState &burst, Side side) noexcept {
    return burst.answers[side].data() + (is_v4 ? 0 : questions_max);
  }

  void choose_way(const BurstState &burst) noexcept {
    way_ = Way::general;
    const PerSide<Map> &maps = ranges(*burst.view);
    const Map &deny = maps[Side::deny];
    may_be_short_ = burst.order == AllowFilterOrder::none && burst.stack == nullptr && !deny.empty() &&
                    !maps[Side::allow].empty() && deny.value(0) == 0;
    if (!may_be_short_) return;
    if (const std::uint32_t in_use = deny.in_use(); in_use == table::range_prefixes)
      way_ = Way::prefixes;
    else if (is_v4 && in_use == table::range_hosts)
      way_ = Way::hosts;
  }

  // Beside a short way. True: the side lists nothing, and has answered.
  [[nodiscard]] bool answer_where_nothing_is_listed(BurstState &burst, Side side) noexcept {
    const Map &map = ranges(burst, side);
    if (map.in_use() != 0) return false;
    answer_all(burst, side, map.value(0));
    return true;
  }

  // The stages of a deny side that has hosts alone.
  void aim_hosts(BurstState &burst, Targets &targets) noexcept {
    uniform_[Side::deny].reset();
    batches_[Side::deny].add_all(keys_, asked_, host_seed(burst), host_length);
    targets.add(hosts().aim(tables(burst, Side::deny), *burst.kernels));
  }
  void probe_hosts(BurstState &burst, Targets &behind) noexcept {
    hosts().probe_first(tables(burst, Side::deny), *burst.kernels, answers(burst, Side::deny), behind);
  }
  void settle_hosts(BurstState &burst) noexcept {
    hosts().settle(tables(burst, Side::deny), *burst.kernels, answers(burst, Side::deny));
  }
  void finish_hosts(BurstState &burst) noexcept {
    hosts().finish(tables(burst, Side::deny), *burst.kernels, answers(burst, Side::deny));
    burst.cost.probes += hosts().asked_table();
    burst.cost.second_lines += hosts().second_lines();
  }
  // And of one that has prefixes alone.
  void aim_prefixes(BurstState &burst) noexcept { aim_prefixes(burst, all_questions()); }
  void aim_prefixes(BurstState &burst, std::uint64_t questions) noexcept {
    uniform_[Side::deny].reset();
    prefixes_[Side::deny].ask(*burst.kernels, ranges(burst, Side::deny), keys_, asked_, questions);
  }
  void finish_prefixes(BurstState &burst, FamilyLookup *holder) noexcept {
    prefixes_[Side::deny].answer(*burst.kernels, has(way_, Way::hosts), answers(burst, Side::deny),
                                 holder != nullptr ? &holder->prefixes_[Side::deny] : nullptr);
  }
  [[nodiscard]] bool took_over(Side side) const noexcept { return prefixes_[side].took_over(); }

  // From here on of sides that are busy.
  void probe(BurstState &burst, Side side, Targets &behind) noexcept {
    batches_[side].each(
        [&](auto &b) { b.probe_first(tables(burst, side), *burst.kernels, answers(burst, side), behind); });
  }

  void locate_prefixes(const BurstState &burst, Side side) noexcept {
    prefixes_[side].locate(*burst.kernels);
  }

  // `located`, `asked`: bursts behind; `ahead`: not finished; or null.
  void probe_prefixes(const BurstState &burst, Side side, const FamilyLookup *located,
                      const FamilyLookup *asked, FamilyLookup *ahead) noexcept {
    prefixes_[side].probe(*burst.kernels, located != nullptr ? &located->prefixes_[side] : nullptr,
                          asked != nullptr ? &asked->prefixes_[side] : nullptr,
                          ahead != nullptr ? &ahead->prefixes_[side] : nullptr);
  }

  void settle(BurstState &burst, Side side) noexcept {
    batches_[side].each(
        [&](auto &b) { b.settle(tables(burst, side), *burst.kernels, answers(burst, side)); });
  }

  // For `confirm: on_conflict`, when the deny side has answered: asks about what it matched, and if `sampled`
  // about every question, for the rates alone.
  void ask_late(BurstState &burst, bool sampled) noexcept {
    const std::uint64_t denied = burst.kernels->listed(answers(burst, Side::deny), asked_);
    const std::uint64_t questions = sampled ? all_questions() : denied;
    if (questions == 0) return;
    std::uint32_t *const allow = answers(burst, Side::allow);
    AllowQuestions<Line>(*burst.view, *burst.kernels)
        .ask(keys_, questions, denied, allow, burst.cost.allow_filter);
    for (std::uint64_t rest = questions & ~denied; rest != 0; rest &= rest - 1)
      allow[std::countr_zero(rest)] = 0;
    uniform_[Side::allow].reset();
  }

protected:
  [[nodiscard]] static const image::SideView<Line> &tables(const BurstState &burst, Side side) noexcept {
    return burst.view->template sides<Line>()[side];
  }

  [[nodiscard]] static const PerSide<Map> &ranges(const image::ImageView &view) noexcept {
    if constexpr (is_v4)
      return view.ranges_v4;
    else
      return view.ranges_v6;
  }
  [[nodiscard]] static const Map &ranges(const BurstState &burst, Side side) noexcept {
    return ranges(*burst.view)[side];
  }

  // In the form that the hash kernel takes.
  [[nodiscard]] static std::uint64_t host_seed(const BurstState &burst) noexcept {
    if constexpr (is_v4)
      return burst.view->flips_v4[host_length];
    else
      return burst.view->seeds_v6[host_length];
  }

  // A side with a range map: its table has hosts alone. `hosts`, `prefixes`: questions with any in their part of
  // the addresses; others need not be asked.
  void aim_beside_ranges(BurstState &burst, Side side, std::uint64_t hosts, std::uint64_t prefixes,
                         Targets &targets) noexcept {
    const Map &map = ranges(burst, side);
    const std::uint64_t seed = host_seed(burst);
    busy_[side] = true;
    uniform_[side].reset();
    const bool as_array = are_most(hosts);
    asks_hosts_[side] = hosts != 0;
    answers_are_set_[side] = hosts != 0 || !PrefixQuestions<Map>::asks_all(prefixes, asked_);
    if (!as_array && answers_are_set_[side]) std::fill_n(answers(burst, side), asked_, 0);
    if (hosts == 0) {
      batches_[side].drop();
    } else if (as_array) {
      batches_[side].add_all(keys_, asked_, seed, host_length); // its probes set every answer
      if (burst.view->judges_hosts(side)) batches_[side].judge_only(hosts);
    } else {
      batches_[side].clear();
      for (std::uint64_t rest = hosts; rest != 0; rest &= rest - 1) {
        const auto q = static_cast<unsigned>(std::countr_zero(rest));
        batches_[side].add(keys_[q], seed, host_length, q);
      }
    }
    prefixes_[side].ask(*burst.kernels, map, keys_, asked_, prefixes);
    if (hosts != 0) locate(burst, side, targets);
  }
  void finish_beside_ranges(BurstState &burst, Side side, FamilyLookup *holder) noexcept {
    std::uint32_t *const answers = this->answers(burst, side);
    if (asks_hosts_[side]) { // else no filter was asked either
      collect(burst, side);
      tally_filters(burst, side);
    }
    prefixes_[side].answer(*burst.kernels, answers_are_set_[side], answers,
                           holder != nullptr ? &holder->prefixes_[side] : nullptr);
    const std::uint32_t otherwise = ranges(burst, side).value(0);
    if (otherwise == 0) return;
    for (unsigned q = 0; q < asked_; ++q)
      if (answers[q] == 0) answers[q] = otherwise;
  }

  // Where the first answer of each probe stands. The filter of the allow side takes out what it refuses.
  void locate(BurstState &burst, Side side, Targets &targets) noexcept {
    if (burst.filter_first(side)) ask_filter(burst, side);
    locate_from(0, burst, side, targets);
  }
  void locate_from(unsigned first_batch, BurstState &burst, Side side, Targets &targets) noexcept {
    batches_[side].each_from(first_batch, [&](auto &b) {
      targets.add(b.aim(tables(burst, side), *burst.kernels, burst.stack_of(side)));
    });
  }

  void collect(BurstState &burst, Side side) noexcept {
    batches_[side].each([&](auto &b) {
      b.finish(tables(burst, side), *burst.kernels, answers(burst, side));
      burst.cost.probes += b.asked_table();
      burst.cost.second_lines += b.second_lines();
      if (side == Side::allow) burst.cost.allow_filter.table_asked += b.asked_table();
    });
  }
  // After collect(). The deny side has answered before the allow side does.
  void tally_filters(BurstState &burst, Side side) noexcept {
    if (burst.filter_first(side))
      burst.cost.allow_filter.add(all_questions(), let_through_,
                                  burst.kernels->listed(answers(burst, Side::allow), asked_),
                                  burst.kernels->listed(answers(burst, Side::deny), asked_));
    if (burst.stack_of(side) == nullptr) return;
    DenyFilterTally &tally = burst.cost.deny_filter;
    batches_[side].each([&](const ProbeBatch<Line> &b) {
      tally.asked += b.asked_stack();
      tally.accepted += b.accepted_by_stack();
      if (b.accepted_by_stack() != 0 && !burst.stack->judges())
        tally.refuted += b.refuted(answers(burst, side));
    });
  }

  // Usually what the burst before said as well: then its answers still stand there.
  void answer_all(BurstState &burst, Side side, std::uint32_t value) noexcept {
    if (uniform_[side] == value) return;
    std::fill_n(answers(burst, side), questions_max, value);
    uniform_[side] = value;
  }

  unsigned asked_ = 0;
  Way way_ = Way::general;
  bool may_be_short_ = false; // nothing but the tables and the map of the deny side has a say there
  PerSide<bool> busy_{};      // has something to look up on the general way
  PerSide<std::optional<std::uint32_t>> uniform_{}; // what all answers of a side are
  PerSide<bool> asks_hosts_{}, answers_are_set_{};  // beside ranges
  PerSide<PrefixQuestions<Map>> prefixes_;
  const Key *keys_ = nullptr; // own_keys_, or the caller's
  alignas(64) std::array<Key, questions_max> own_keys_{};
  PerSide<ProbeBatches<Line>> batches_; // IPv4: 64 questions of at most 16 lengths

  // So many that to ask all of them as one array costs less than to pick them.
  [[nodiscard]] bool are_most(std::uint64_t questions) const noexcept {
    return 4 * std::popcount(questions) >= 3 * static_cast<int>(asked_);
  }
  [[nodiscard]] std::uint64_t all_questions() const noexcept {
    return asked_ == 0 ? 0 : ~std::uint64_t{0} >> (questions_max - asked_);
  }

private:
  static constexpr unsigned host_length = address_bits(Line::family);

  [[nodiscard]] ProbeBatch<Line> &hosts() noexcept { return batches_[Side::deny].first(); }

  // Kernels read whole groups of keys, and keys that are aligned.
  [[nodiscard]] static bool can_stay(const void *keys, unsigned count) noexcept {
    return count % kernel_lanes == 0 && reinterpret_cast<std::uintptr_t>(keys) % alignof(Key) == 0;
  }

  void ask_filter(BurstState &burst, Side side) noexcept {
    let_through_ = 0;
    batches_[side].each([&](auto &b) {
      if (b.any())
        let_through_ |= b.ask_allow_filter(burst.view->allow_filter, *burst.kernels, answers(burst, side));
    });
  }

  std::uint64_t let_through_ = 0; // questions with a probe that the filter of the allow side accepted
};

} // namespace weir::lookup
