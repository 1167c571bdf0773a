// The allow side behind its filter ([SSCF]), a burst at a time.
//
//   confirm: exact         every probe of the allow side goes through the filter first, and what it lets
//                          through goes on to the tables (ProbeBatch::ask_allow_filter)
//   confirm: on_conflict   nothing is asked until the deny side has answered; then the addresses that it
//                          matched are asked here, filter first, tables after
//
// Either way an address is exempted because a table has it, never because the filter says so. What the
// filter was asked and how often it was wrong is counted an address, not a probe: an address is accepted
// when one of its probes is.
#pragma once

#include "weir/image/view.hpp"
#include "weir/lookup/kernels.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace weir::lookup {

struct AllowFilterTally {
  unsigned asked = 0, accepted = 0, refuted = 0; // refuted: accepted, and in no table
  unsigned denied_asked = 0, denied_refuted = 0; // of them, those that the deny side matched
  unsigned table_asked = 0;                      // probes that went on to an allow table

  // One bit a question.
  void add(std::uint64_t questions, std::uint64_t let_through, std::uint64_t found,
           std::uint64_t denied) noexcept {
    const std::uint64_t wrong = let_through & ~found;
    asked += ones(questions);
    accepted += ones(let_through);
    refuted += ones(wrong);
    denied_asked += ones(questions & denied);
    denied_refuted += ones(wrong & denied);
  }

private:
  [[nodiscard]] static unsigned ones(std::uint64_t mask) noexcept {
    return static_cast<unsigned>(std::popcount(mask));
  }
};

// Asks the filter, and then the tables, about chosen questions of one family.
template <class Line> class AllowQuestions {
public:
  using Key = typename Line::Key;

  AllowQuestions(const image::ImageView &view, const Kernels &kernels) noexcept
      : view_(view), kernels_(kernels) {}

  // Bit q of `questions`: keys[q] is asked for. answers[q] becomes the allow side's value for those, 0 for
  // none; other answers stay.
  void ask(const Key *keys, std::uint64_t questions, std::uint64_t denied, std::uint32_t *answers,
           AllowFilterTally &tally) noexcept {
    for (std::uint64_t rest = questions; rest != 0; rest &= rest - 1) {
      const auto q = static_cast<unsigned>(std::countr_zero(rest));
      answers[q] = 0;
      add_lengths(keys[q], q, answers, tally);
    }
    look(answers, tally);
    tally.add(questions, let_through_, found_, denied);
    if (Line::family == Family::ipv6 && !has_ranges()) return;
    for (std::uint64_t rest = questions & ~found_; rest != 0; rest &= rest - 1) {
      const auto q = static_cast<unsigned>(std::countr_zero(rest));
      answers[q] = covering(keys[q]);
    }
  }

private:
  [[nodiscard]] bool has_ranges() const noexcept { return view_.template has_ranges<Line>(Side::allow); }
  // The longest prefix that no table is asked for.
  [[nodiscard]] std::uint32_t covering(std::uint32_t wire) const noexcept {
    return has_ranges() ? view_.ranges_v4[Side::allow].find(wire) : table::covering(lengths_v4(), wire);
  }
  [[nodiscard]] std::uint32_t covering(const KeyV6 &whole) const noexcept {
    return view_.ranges_v6[Side::allow].find(whole);
  }

  [[nodiscard]] const table::LengthMapV4 &lengths_v4() const noexcept {
    return view_.lengths_v4[Side::allow];
  }

  void add_lengths(std::uint32_t wire, unsigned question, std::uint32_t *answers,
                   AllowFilterTally &tally) noexcept {
    if (has_ranges()) {
      if (view_.ranges_v4[Side::allow].has_hosts_below(wire))
        add(wire, view_.flips_v4[32], 32, question, answers, tally);
      return;
    }
    const table::LengthMapV4 &map = lengths_v4();
    if (map.lengths() == table::only_hosts)
      return add(wire, view_.flips_v4[32], 32, question, answers, tally);
    for (std::uint32_t rest = table::long_lengths(map.cell(wire)); rest != 0; rest &= rest - 1) {
      const unsigned length = static_cast<unsigned>(std::countr_zero(rest)) + table::short_length_max + 1;
      add(wire & wire_mask_v4(length), view_.flips_v4[length], length, question, answers, tally);
    }
  }

  void add_lengths(const KeyV6 &whole, unsigned question, std::uint32_t *answers,
                   AllowFilterTally &tally) noexcept {
    if (has_ranges()) {
      if (view_.ranges_v6[Side::allow].has_hosts_near(whole))
        add(whole, view_.seeds_v6[128], 128, question, answers, tally);
      return;
    }
    const table::LengthsV6 &in_use = view_.lengths_v6[Side::allow];
    for (unsigned w = 0; w < 3; ++w)
      for (std::uint64_t rest = in_use.word(w); rest != 0; rest &= rest - 1) {
        const unsigned length = w * 64 + static_cast<unsigned>(std::countr_zero(rest));
        const KeyV6 mask = table::key_mask_v6(length);
        add({whole.low & mask.low, whole.high & mask.high}, view_.seeds_v6[length], length, question, answers,
            tally);
      }
  }

  void add(const Key &key, std::uint64_t seed, unsigned length, unsigned question, std::uint32_t *answers,
           AllowFilterTally &tally) noexcept {
    key_[count_] = key;
    seed_[count_] = seed;
    length_[count_] = static_cast<std::uint8_t>(length);
    question_[count_] = static_cast<std::uint8_t>(question);
    if (++count_ == key_.size()) look(answers, tally);
  }

  // The filter about all that was added, the tables about what it lets through.
  void look(std::uint32_t *answers, AllowFilterTally &tally) noexcept {
    if (count_ == 0) return;
    const image::SideView<Line> &side = view_.template sides<Line>()[Side::allow];
    if constexpr (Line::family == Family::ipv4)
      kernels_.hash_v4(key_.data(), seed_.data(), count_, hash_.data());
    else
      kernels_.hash_v6(key_.data(), seed_.data(), count_, hash_.data());
    const filter::HitMask hits = view_.allow_filter.contains_batch(std::span(hash_).first(count_));
    for (filter::HitMask rest = hits; rest != 0; rest &= rest - 1)
      side.prefetch(key_[std::countr_zero(rest)], hash_[std::countr_zero(rest)]);
    for (filter::HitMask rest = hits; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      const std::uint64_t bit = std::uint64_t{1} << question_[i];
      const std::uint32_t value = side.find(key_[i], length_[i], hash_[i]);
      let_through_ |= bit;
      if (value != 0) found_ |= bit;
      offer(answers[question_[i]], value);
      ++tally.table_asked;
    }
    count_ = 0;
  }

  const image::ImageView &view_;
  const Kernels &kernels_;
  unsigned count_ = 0;
  std::uint64_t let_through_ = 0, found_ = 0; // questions
  alignas(64) std::array<Key, filter::batch_max> key_;
  alignas(64) std::array<std::uint64_t, filter::batch_max> seed_;
  alignas(64) std::array<KeyHash, filter::batch_max> hash_;
  std::array<std::uint8_t, filter::batch_max> length_, question_;
};

} // namespace weir::lookup
