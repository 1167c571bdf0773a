// Up to 64 probes of one side of one family, as dense arrays that kernels work on, and ProbeBatches,
// as many of them as a burst needs. The arrays stand side by side in few cache lines: long arrays,
// one for each property, would begin at the same place of every page and evict one another.
//
// A probe asks for exactly (key, length). Where every question of the burst is one probe (a side
// with one length in use), probe i belongs to question i and its value is the answer; otherwise
// `question` says whose it is, and the longest length that answers wins.
//
//   add / add_all -> aim -> probe_first -> settle -> finish        the stages of burst_lookup.hpp
//
// With an overlay, a front filter, a deny filter or an allow filter in the way, the probes that they settle
// are taken out of the arrays between the stages, so that what follows sees dense arrays again. A stack is
// asked about probes for hosts alone; where it judges, it settles those too that it accepts.
//
// Where hosts stand in words (table/word_line.hpp) these take the part of table 1, and no address is hashed but those that
// an overlay or the table behind is asked about.
#pragma once

#include "weir/image/view.hpp"
#include "weir/lookup/kernels.hpp"
#include "weir/lookup/targets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace weir::lookup {

template <class LineType> class ProbeBatch {
public:
  static constexpr unsigned capacity = 64;
  using Line = LineType;
  using Key = typename Line::Key;
  using Side = image::SideView<Line>;
  static constexpr bool is_v4 = Line::family == Family::ipv4;
  static_assert(capacity % kernel_lanes == 0);

  void clear() noexcept {
    count_ = asked_table_ = asked_stack_ = accepted_ = 0;
    open_ = 0;
    judged_ = ~std::uint64_t{0};
    one_each_ = hashed_ = all_hosts_ = false;
  }
  [[nodiscard]] bool takes_more() const noexcept { return !one_each_ && count_ < capacity; }
  [[nodiscard]] bool any() const noexcept { return count_ != 0; }
  [[nodiscard]] unsigned asked_table() const noexcept { return asked_table_; }
  [[nodiscard]] unsigned second_lines() const noexcept { return static_cast<unsigned>(std::popcount(open_)); }
  [[nodiscard]] unsigned asked_stack() const noexcept { return asked_stack_; }
  [[nodiscard]] unsigned accepted_by_stack() const noexcept { return accepted_; }
  // Of them, hosts that the answers do not name: a host that a table has is the longest match.
  [[nodiscard]] unsigned refuted(const std::uint32_t *answers) const noexcept {
    unsigned refuted = 0;
    for (unsigned i = 0; i < count_; ++i)
      refuted += tag_[i] == host_tag && (answers[question_[i]] & length_mask) != host_tag ? 1 : 0;
    return refuted;
  }

  // `seed` in the form that the hash kernel of the family takes.
  void add(const Key &key, std::uint64_t seed, unsigned length, unsigned question) noexcept {
    uniform_ = 0;
    keys_ = key_.data();
    key_[count_] = key;
    seed_[count_] = seed;
    tag_[count_] = length_tag(length);
    question_[count_++] = static_cast<std::uint8_t>(question);
  }

  // Question i asks for keys[i] at this length and for nothing else; the keys stay where they are, in
  // room for a multiple of `kernel_lanes`.
  void add_all(const Key *keys, unsigned count, std::uint64_t seed, unsigned length) noexcept {
    one_each_ = true;
    all_hosts_ = length_tag(length) == host_tag;
    keys_ = keys;
    if (uniform_ < count || seed_[0] != seed || tag_[0] != length_tag(length)) {
      std::fill_n(seed_.begin(), count, seed);
      std::fill_n(tag_.begin(), count, length_tag(length));
      uniform_ = count;
    }
    count_ = count;
  }

  // After add_all(): where a stack judges, it has a word about these questions alone.
  void judge_only(std::uint64_t questions) noexcept { judged_ = questions; }

  // Takes out the probes that `allow` knows to be absent. Before aim(); bit q of the result: question q
  // keeps a probe.
  std::uint64_t ask_allow_filter(const auto &allow, const Kernels &kernels, std::uint32_t *answers) noexcept {
    hash(kernels);
    name_questions(answers);
    std::uint64_t questions = 0;
    const filter::HitMask hits = allow.contains_batch(std::span(hash_).first(count_));
    for (filter::HitMask rest = hits; rest != 0; rest &= rest - 1)
      questions |= std::uint64_t{1} << question_[static_cast<unsigned>(std::countr_zero(rest))];
    keep(hits);
    hashed_ = true;
    return questions;
  }

  // Where in memory the first answer stands, to be prefetched. `stack`: of the side; null: none.
  std::span<const void *const> aim(const Side &view, const Kernels &kernels,
                                   const image::DenyFilterView *stack = nullptr) noexcept {
    if (count_ == 0) return {};
    stack_ = stack;
    if constexpr (is_v4) {
      in_words_ = !view.words.empty();
      if (in_words_) {
        kernels.words->aim(view.words, keys_, count_, target_.data(), first_word_.data());
        return {target_.data(), count_};
      }
    }
    if (!hashed_) hash(kernels);
    if (stack != nullptr && stack->first().blocks.empty()) return {}; // it prefetches its lines itself
    if (stack != nullptr)
      aim_at_blocks(stack->first().blocks, stack->first().family, kernels);
    else if (!view.front.empty())
      aim_at_blocks(view.front, filter::SplitBlockBloom::layer, kernels);
    else
      aim_at_lines(view, kernels);
    return {target_.data(), count_};
  }

  // Prefetches what `behind` brings along the way.
  void probe_first(const Side &view, const Kernels &kernels, std::uint32_t *answers,
                   Targets &behind) noexcept {
    if (count_ == 0) return;
    if (!view.overlay.empty()) [[unlikely]]
      ask_overlay(view, kernels, answers);
    if constexpr (is_v4)
      if (in_words_) return probe_words(view, kernels, answers, behind.next(count_));
    if (stack_ != nullptr || !view.front.empty()) {
      if (stack_ != nullptr)
        ask_stack(kernels, answers, behind);
      else
        ask_front(kernels, answers, behind.next(count_));
      state_ = State::filtered;
      return;
    }
    probe(kernels, answers, behind.next(count_));
  }

  // One step on: the group bits are read, table 2's lines prefetched; behind a front filter, the lines of table 1 are
  // prefetched for what it let through. To be called when some time has passed since probe_first(): a prefetch
  // right behind those of the blocks waits until some of them are done.
  void settle(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    if (count_ == 0) return;
    if (state_ == State::filtered) {
      aim_at_lines(view, kernels);
      for (unsigned i = 0; i < count_; ++i) prefetch_line(target_[i]);
      state_ = State::aimed;
    } else if (state_ == State::aimed) {
      probe(kernels, answers, {});
    } else if (state_ == State::probed) {
      read_groups(view, kernels, answers);
    }
  }

  void finish(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    while (count_ != 0 && state_ != State::settled) settle(view, kernels, answers);
    for (std::uint64_t rest = open_; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      const unsigned length = tag_[i] >> 16;
      give(i,
           in_words_ ? view.table.find(keys_[i], length, hash_[i])
                     : view.table.find2(keys_[i], length, hash_[i]),
           answers);
    }
  }

private:
  void hash(const Kernels &kernels) noexcept {
    if constexpr (is_v4)
      kernels.hash_v4(keys_, seed_.data(), count_, hash_.data());
    else
      kernels.hash_v6(keys_, seed_.data(), count_, hash_.data());
  }

  void aim_at_lines(const Side &view, const Kernels &kernels) noexcept {
    led_ = view.predicts_alone();
    if (led_)
      follow(view, kernels);
    else
      kernels.lines1(hash_.data(), count_, view.table.lines1, view.table.count1, target_.data());
  }

  // To the one line of each key. The deeper layers are asked for keys alone that the first one took.
  void follow(const Side &view, const Kernels &kernels) noexcept {
    const auto &t = view.table;
    kernels.lines_led(hash_.data(), count_, {view.chain.first(), t.lines1, t.count1, t.count2},
                      target_.data());
    if (view.chain.deep_layers() == 0) return;
    for (unsigned i = 0; i < count_; ++i)
      if (target_[i] >= t.lines2 && view.chain.settle(hash_[i]) == table::Home::table1)
        target_[i] = &t.line1(hash_[i]);
  }

  void aim_at_blocks(const filter::SplitBlockBloom &front, std::uint64_t layer,
                     const Kernels &kernels) noexcept {
    kernels.mix(hash_.data(), count_, layer, mixed_.data());
    kernels.blocks(front, mixed_.data(), count_, target_.data());
  }

  void probe(const Kernels &kernels, std::uint32_t *answers, std::span<const void *const> behind) noexcept {
    asked_table_ = count_;
    const ProbeArrays<Line> arrays{.lines = reinterpret_cast<const Line *const *>(target_.data()),
                                   .keys = keys_,
                                   .tags = tag_.data(),
                                   .count = count_,
                                   .behind = behind.data(),
                                   .behind_count = static_cast<unsigned>(behind.size())};
    std::uint32_t *const groups = led_ ? nullptr : group_.data();
    if constexpr (is_v4)
      kernels.probe_v4(arrays, values(answers), groups);
    else
      kernels.probe_v6(arrays, values(answers), groups);
    state_ = State::probed;
  }

  void probe_words(const Side &view, const Kernels &kernels, std::uint32_t *answers,
                   std::span<const void *const> behind) noexcept {
    asked_table_ = count_;
    const WordProbes probes{.lines = reinterpret_cast<const table::WordLine *const *>(target_.data()),
                            .first_words = first_word_.data(),
                            .count = count_,
                            .words_a_key = view.words.words_a_key(),
                            .behind = behind.data(),
                            .behind_count = static_cast<unsigned>(behind.size())};
    kernels.words->probe(probes, values(answers), group_.data());
    state_ = State::probed;
  }

  void read_groups(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    if (in_words_)
      read_groups_of_words(view, kernels, answers);
    else
      read_groups_of_lines(view, kernels, answers);
    state_ = State::settled;
    if (one_each_) return;
    for (unsigned i = 0; i < count_; ++i) offer(answers[question_[i]], value_[i]);
  }

  void read_groups_of_words(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    const WordAnswers first{values(answers), group_.data(), count_, view.words.list_bits()};
    open_ = kernels.words->settle(first);
    for (std::uint64_t rest = open_; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      if constexpr (is_v4) hash_[i] = xxh3::hash_flipped_v4(keys_[i], seed_[i]);
      view.table.prefetch1(hash_[i]);
    }
  }

  void read_groups_of_lines(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    // What is not where a predictor led to is nowhere.
    const FirstAnswers first{values(answers), group_.data(), led_ ? nullptr : hash_.data(), count_};
    if constexpr (is_v4)
      open_ = kernels.settle_v4(first);
    else
      open_ = kernels.settle_v6(first);
    for (std::uint64_t rest = open_; rest != 0; rest &= rest - 1)
      view.table.prefetch2(hash_[static_cast<unsigned>(std::countr_zero(rest))]);
  }

  // Where one probe is one question, its value is the answer.
  [[nodiscard]] std::uint32_t *values(std::uint32_t *answers) noexcept {
    return one_each_ ? answers : value_.data();
  }

  void give(unsigned i, std::uint32_t value, std::uint32_t *answers) noexcept {
    offer(answers[one_each_ ? i : question_[i]], value);
  }

  // From here on probes are a selection of the questions.
  void name_questions(std::uint32_t *answers) noexcept {
    if (!one_each_) return;
    std::copy_n(keys_, count_, key_.begin());
    keys_ = key_.data();
    for (unsigned i = 0; i < count_; ++i) question_[i] = static_cast<std::uint8_t>(i);
    std::fill_n(answers, count_, 0);
    one_each_ = false;
  }
  // The same for a selection of `count` that stands in kept_, which becomes the first probes: most are taken out.
  void name_some(unsigned count, std::uint32_t *answers) noexcept {
    std::fill_n(answers, count_, 0);
    for (unsigned n = 0; n < count; ++n) {
      const unsigned i = kept_[n];
      key_[n] = keys_[i];
      hash_[n] = hash_[i];
      question_[n] = static_cast<std::uint8_t>(i);
    }
    keys_ = key_.data();
    count_ = count;
    one_each_ = false;
  }

  void move(unsigned from, unsigned to) noexcept {
    key_[to] = key_[from];
    tag_[to] = tag_[from];
    hash_[to] = hash_[from];
    target_[to] = target_[from];
    mixed_[to] = mixed_[from];
    first_word_[to] = first_word_[from];
    question_[to] = question_[from];
  }

  // The overlay's word is final.
  void ask_overlay(const Side &view, const Kernels &kernels, std::uint32_t *answers) noexcept {
    if (in_words_) hash(kernels);
    name_questions(answers);
    unsigned left = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const std::uint32_t v = view.overlay.find(key_[i], tag_[i] >> 16, hash_[i]);
      if (v == 0)
        move(i, left++);
      else
        offer(answers[question_[i]], table::is_tombstone(v) ? 0 : v);
    }
    count_ = left;
  }

  // Leaves in kept_ the probes whose blocks, which `target_` names, have all bits; their number is returned.
  unsigned ask_blocks(const Kernels &kernels, std::span<const void *const> behind) noexcept {
    return kernels.bloom({.blocks = reinterpret_cast<const filter::Block *const *>(target_.data()),
                          .mixed = mixed_.data(),
                          .count = count_,
                          .behind = behind.data(),
                          .behind_count = static_cast<unsigned>(behind.size())},
                         kept_.data());
  }
  void ask_front(const Kernels &kernels, std::uint32_t *answers,
                 std::span<const void *const> behind) noexcept {
    const unsigned left = ask_blocks(kernels, behind);
    if (one_each_) return name_some(left, answers);
    for (unsigned n = 0; n < left; ++n) move(kept_[n], n);
    count_ = left;
  }

  // Bit i: probe i asks for a host.
  [[nodiscard]] std::uint64_t hosts() const noexcept {
    if (all_hosts_) return all_probes();
    std::uint64_t hosts = 0;
    for (unsigned i = 0; i < count_; ++i) hosts |= std::uint64_t{tag_[i] == host_tag} << i;
    return hosts;
  }
  // Bit i: the layer that has been aimed at accepts probe i.
  [[nodiscard]] std::uint64_t accepted_by_blocks(const Kernels &kernels,
                                                 std::span<const void *const> behind) noexcept {
    const unsigned left = ask_blocks(kernels, behind);
    if (left == count_) return all_probes();
    std::uint64_t accepted = 0;
    for (unsigned n = 0; n < left; ++n) accepted |= std::uint64_t{1} << kept_[n];
    return accepted;
  }
  // Bit i: the stack accepts probe i, one of `asked`. The kernels ask its first layer, where they can, and
  // the second when that leaves many.
  [[nodiscard]] std::uint64_t accepted_by_stack(std::uint64_t asked, const Kernels &kernels,
                                                Targets &behind) noexcept {
    constexpr int many = 12;
    const auto &[first, first_salt] = stack_->first();
    const auto &[second, second_salt] = stack_->second();
    if (first.empty()) return stack_->contains_batch(std::span(hash_).first(count_)) & asked;
    std::uint64_t accepted = accepted_by_blocks(kernels, behind.next(count_)) & asked, open = accepted;
    if (stack_->depth() == 1) return accepted;
    if (!second.empty() && std::popcount(open) >= many) {
      aim_at_blocks(second, second_salt, kernels);
      open &= accepted_by_blocks(kernels, {});
    }
    for (; open != 0; open &= open - 1) {
      const KeyHash h = hash_[static_cast<unsigned>(std::countr_zero(open))];
      if (!second.empty() && !second.contains_mixed(remix(h, second_salt))) continue; // present, as most are
      if (!stack_->settles(h)) accepted ^= open & -open;
    }
    return accepted;
  }

  void ask_stack(const Kernels &kernels, std::uint32_t *answers, Targets &behind) noexcept {
    if (stack_->judges()) name_questions(answers);
    const std::uint64_t hosts = this->hosts();
    std::uint64_t asked = hosts;
    if (stack_->judges() && ~judged_ != 0)
      for (unsigned i = 0; i < count_; ++i)
        if ((judged_ >> question_[i] & 1) == 0) asked &= ~(std::uint64_t{1} << i);
    const std::uint64_t accepted = accepted_by_stack(asked, kernels, behind);
    asked_stack_ = static_cast<unsigned>(std::popcount(asked));
    accepted_ = static_cast<unsigned>(std::popcount(accepted));
    if (!stack_->judges()) return keep_some(accepted | (all_probes() & ~hosts), answers);
    for (std::uint64_t rest = accepted; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      if (!stack_->spares(key_[i])) offer(answers[question_[i]], image::DenyFilterView::denial<Line>);
    }
    keep(all_probes() & ~hosts);
  }
  [[nodiscard]] std::uint64_t all_probes() const noexcept {
    return count_ == 0 ? 0 : ~std::uint64_t{0} >> (capacity - count_);
  }
  void keep_some(std::uint64_t probes, std::uint32_t *answers) noexcept {
    if (!one_each_) return keep(probes);
    unsigned left = 0;
    for (; probes != 0; probes &= probes - 1)
      kept_[left++] = static_cast<std::uint16_t>(std::countr_zero(probes));
    name_some(left, answers);
  }
  void keep(std::uint64_t probes) noexcept {
    if (probes == all_probes()) return;
    unsigned left = 0;
    for (; probes != 0; probes &= probes - 1) move(static_cast<unsigned>(std::countr_zero(probes)), left++);
    count_ = left;
  }

  static constexpr std::uint32_t host_tag = length_tag(address_bits(Line::family));

  unsigned count_ = 0;       // probes
  unsigned asked_table_ = 0; // of them, how many the table was asked
  unsigned uniform_ = 0;     // leading places of seed_ and tag_ known to be equal
  unsigned asked_stack_ = 0; // probes for hosts that the stack was asked about
  unsigned accepted_ = 0;    // of these, hosts that the filter accepted
  std::uint64_t open_ = 0;   // probes that wait for table 2
  std::uint64_t judged_ = 0; // questions
  const image::DenyFilterView *stack_ = nullptr;
  bool one_each_ = false;  // probe i is question i
  bool all_hosts_ = false; // every probe asks for a host
  bool hashed_ = false;    // already, for the allow filter
  bool led_ = false;       // by a chained predictor: one line each
  bool in_words_ = false;  // hosts stand there
  enum class State : std::uint8_t { filtered, aimed, probed, settled };
  State state_ = State::aimed;
  const Key *keys_ = nullptr; // key_, or the questions' own
  template <class T> using Array = std::array<T, capacity>;
  alignas(64) Array<Key> key_{};
  alignas(64) Array<std::uint64_t> seed_{};
  alignas(64) Array<KeyHash> hash_{};
  alignas(64) Array<const void *> target_{}; // lines of table 1 or of words, or blocks of the front filter
  alignas(64) Array<std::uint32_t> tag_{};
  alignas(64) Array<std::uint32_t> value_{};
  alignas(64) Array<std::uint32_t> group_{}; // bits of the line that was probed
  alignas(64) Array<std::uint64_t> mixed_{};
  alignas(64) Array<std::uint32_t> first_word_{};  // of the address in its line of words
  std::array<std::uint16_t, capacity + 1> kept_{}; // by a front filter
  Array<std::uint8_t> question_{};
};

// All probes of one side of one family in a burst.
template <class Line> class ProbeBatches {
public:
  using Batch = ProbeBatch<Line>;
  static constexpr unsigned batches_max = 17;

  void clear() noexcept {
    used_ = 1;
    batch_[0].clear();
  }
  void drop() noexcept { used_ = 0; } // nothing is added until clear() or add_all()
  [[nodiscard]] bool has_room_for(unsigned probes) const noexcept {
    return (batches_max - used_) * Batch::capacity >= probes;
  }

  void add(const typename Line::Key &key, std::uint64_t seed, unsigned length, unsigned question) noexcept {
    if (!batch_[used_ - 1].takes_more()) batch_[used_++].clear();
    batch_[used_ - 1].add(key, seed, length, question);
  }
  void judge_only(std::uint64_t questions) noexcept { batch_[0].judge_only(questions); }
  // Before any other probe, and without answers yet.
  void add_all(const typename Line::Key *keys, unsigned count, std::uint64_t seed, unsigned length) noexcept {
    clear();
    batch_[0].add_all(keys, count, seed, length);
  }

  [[nodiscard]] Batch &first() noexcept { return batch_[0]; }
  template <class Stage> void each(Stage stage) noexcept { each_from(0, stage); }
  template <class Stage> void each_from(unsigned first, Stage stage) noexcept {
    for (unsigned i = first; i < used_; ++i) stage(batch_[i]);
  }

private:
  unsigned used_ = 0;
  std::array<Batch, batches_max> batch_;
};

} // namespace weir::lookup
