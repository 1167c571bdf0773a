// The questions of a burst to the range map of one side: those whose /16 has prefixes, or all of them. Its stages
// are those of burst_lookup.hpp, so that memory answers while other bursts work:
//
//   ask      burst i+3    words that lead to first lines
//   locate   burst i+2    first lines; the words have been prefetched while burst i-1 was probed
//   probe    burst i      while the lines of burst i+2 and the words of burst i+3 are prefetched, one a step; what was
//                         led on in burst i-1 takes a further line
//   answer   burst i-1    the lines that are left
//
// With fewer bursts in flight each stage does what those before it did not.
#pragma once

#include "weir/lookup/kernels.hpp"
#include "weir/lookup/range_burst.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace weir::lookup {

template <class Map> class PrefixQuestions {
public:
  using Question = typename Map::Question;
  using Burst = RangeBurst<Map>;

  void clear() noexcept { state_ = State::nothing; }
  [[nodiscard]] bool asked() const noexcept { return state_ != State::nothing; }

  // To pick half of them costs more than it saves.
  [[nodiscard]] static bool asks_all(std::uint64_t questions, unsigned count) noexcept {
    return 2 * std::popcount(questions) >= static_cast<int>(count);
  }

  // Bit q of `questions`: keys[q] is asked; others may be. The keys stay where they are until answer().
  void ask(const Kernels &kernels, const Map &map, const Question *keys, unsigned count,
           std::uint64_t questions) noexcept {
    all_ = asks_all(questions, count);
    count_ = count;
    if (!all_) {
      count_ = 0;
      for (; questions != 0; questions &= questions - 1) {
        const auto q = static_cast<unsigned>(std::countr_zero(questions));
        some_[count_] = keys[q];
        question_[count_++] = static_cast<std::uint8_t>(q);
      }
    }
    if (count_ == 0) return;
    burst_.ask(kernels, map, all_ ? keys : some_.data(), count_);
    state_ = State::asked;
  }

  void locate(const Kernels &kernels) noexcept {
    if (state_ != State::asked) return;
    burst_.locate(kernels);
    state_ = State::located;
  }

  // `located`, `asked`: bursts behind for which memory is to be prefetched, or null. `ahead`: whose questions go on, or null.
  void probe(const Kernels &kernels, const PrefixQuestions *located, const PrefixQuestions *asked,
             PrefixQuestions *ahead) noexcept {
    if (state_ != State::asked && state_ != State::located) return;
    locate(kernels);
    burst_.probe(kernels, located != nullptr && located->state_ == State::located ? located->burst_ : nothing,
                 asked != nullptr && asked->state_ == State::asked ? asked->burst_ : nothing,
                 ahead != nullptr && ahead->state_ == State::probed ? &ahead->burst_ : nullptr);
    state_ = State::probed;
  }

  // After probe(). An answer that is 0 becomes the value of the longest prefix. `holder`: has what these had left
  // (range_burst.hpp), or null.
  void answer(const Kernels &kernels, bool answers_are_set, std::uint32_t *answers,
              PrefixQuestions *holder = nullptr) noexcept {
    if (state_ == State::nothing) return;
    std::uint32_t *const values = all_ && !answers_are_set ? answers : value_.data();
    burst_.finish(kernels, values, holder != nullptr ? &holder->burst_ : nullptr);
    state_ = State::nothing;
    if (!all_)
      for (unsigned i = 0; i < count_; ++i) {
        std::uint32_t &given = answers[question_[i]];
        given = given != 0 ? given : value_[i];
      }
    else if (answers_are_set)
      kernels.or_else(answers, value_.data(), count_);
  }

  // Has been probed, with what the burst ahead had left.
  [[nodiscard]] bool took_over() const noexcept { return state_ == State::probed && burst_.took_over(); }

private:
  static inline const Burst nothing{};

  enum class State : std::uint8_t { nothing, asked, located, probed };
  State state_ = State::nothing;
  bool all_ = false;
  unsigned count_ = 0;
  Burst burst_;
  std::array<Question, Burst::questions_max> some_;
  std::array<std::uint8_t, Burst::questions_max> question_;
  alignas(64) std::array<std::uint32_t, Burst::questions_max> value_;
};

} // namespace weir::lookup
