#include "tests/lab/contenders.hpp"

#include "control/plan/allow_stack_size.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <immintrin.h>

namespace weir::lab {
namespace {

using filter::batch_max;
using Made = Result<std::unique_ptr<Contender>>;

// A section of an image, as far as the filter in it is concerned.
class Seesaw {
public:
  static Result<Seesaw> make(const build::SeesawParams &params) {
    const auto bytes = build::seesaw_bytes(params);
    if (!bytes) return std::unexpected(bytes.error());
    Seesaw made;
    made.lines_.resize(*bytes / sizeof(Line));
    const MutableBytes section{made.lines_.front().bytes, *bytes};
    if (const auto load = build::build_seesaw(params, {}, {}, section); !load)
      return std::unexpected(load.error());
    made.writer_ = filter::SeesawWriter::attach(section).value();
    made.view_ = filter::SeesawView::attach(section).value();
    return made;
  }
  void insert(KeyHash key) { writer_.insert(key); }
  void erase(KeyHash key) { writer_.erase(key); }
  void guard(KeyHash negative) { (void)writer_.guard(negative); }
  [[nodiscard]] bool contains(KeyHash key) const { return view_.contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const {
    return view_.contains_batch(keys);
  }
  [[nodiscard]] std::uint64_t bits() const { return lines_.size() * sizeof(Line) * 8; }
  [[nodiscard]] std::uint64_t cells_stuck() const {
    const filter::SeesawLoad load = writer_.load();
    return load.cells_stuck + load.modulator_stuck;
  }

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  filter::SeesawWriter writer_;
  filter::SeesawView view_;
};

template <class F> class Model final : public Contender {
public:
  explicit Model(F filter) : filter_(std::move(filter)) {}

  bool insert(KeyHash key) override {
    if constexpr (std::is_void_v<decltype(filter_.insert(key))>) {
      filter_.insert(key);
      return true;
    } else {
      return static_cast<bool>(filter_.insert(key));
    }
  }
  void erase(KeyHash key) override { filter_.erase(key); }
  void guard(KeyHash negative) override {
    if constexpr (requires { filter_.guard(negative); }) filter_.guard(negative);
  }
  void insert_all(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) (void)filter_.insert(key);
  }
  void erase_all(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) filter_.erase(key);
  }
  std::uint64_t count_singly(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (const KeyHash key : keys) hits += filter_.contains(key) ? 1 : 0;
    return hits;
  }
  std::uint64_t count_waiting(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (const KeyHash key : keys) {
      hits += filter_.contains(key) ? 1 : 0;
      _mm_lfence();
    }
    return hits;
  }
  void insert_waiting(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) {
      (void)filter_.insert(key);
      _mm_lfence();
    }
  }
  std::uint64_t count_batches(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (std::size_t at = 0; at < keys.size(); at += batch_max)
      hits += static_cast<unsigned>(
          std::popcount(filter_.contains_batch(keys.subspan(at, std::min(batch_max, keys.size() - at)))));
    return hits;
  }
  filter::HitMask accepts(std::span<const KeyHash> keys) const override {
    return filter_.contains_batch(keys);
  }
  std::uint64_t bits() const override { return filter_.bits(); }
  std::uint64_t overflows() const override {
    if constexpr (requires { filter_.cells_stuck(); }) return filter_.cells_stuck();
    return 0;
  }

private:
  F filter_;
};

template <class F> Made wrapped(Result<F> filter) {
  if (!filter) return std::unexpected(filter.error());
  return std::make_unique<Model<F>>(std::move(*filter));
}

std::string words_of(const filter::CountingBloom::Shape &s) {
  return fmt::format("{} hashes on {} cells of {} bits", s.hashes, s.cells(), s.cell_bits);
}

Result<Entry> seesaw_entry(const SeesawTask &task, const Needs &needs) {
  const auto choice = choose_seesaw(task, needs);
  if (!choice) return std::unexpected(choice.error());
  const build::SeesawParams &p = choice->params;
  Entry entry{"seesaw", choice->predicted, choice->guarded, {choice->guarded}, {}, {}};
  const double modulator = static_cast<double>(p.modulator_words);
  entry.shape =
      fmt::format("{} hashes, {} backups; cells of {} + {}{} bits; modulator {:.1f} % of the words, {} + "
                  "{} bits; {} negatives guarded",
                  p.hashes, p.backups, p.negative_bits, p.positive_bits, p.adaptive ? " + 1" : "",
                  100 * modulator / (modulator + static_cast<double>(p.cell_words)), p.count_bits,
                  p.index_bits, choice->guarded);
  const bool late = task.ada;
  entry.make = [p, late, guarded = choice->guarded](std::span<const KeyHash> negatives) {
    Made made = wrapped(Seesaw::make(p));
    if (made && !late)
      for (const KeyHash negative : negatives.first(guarded)) (*made)->guard(negative);
    return made;
  };
  return entry;
}

Entry counting_entry(const Needs &needs) {
  const auto shape = filter::CountingBloom::shape_for(needs.keys, needs.bits);
  const double rate = filter::CountingBloom::rate(shape, needs.keys);
  Entry entry{"counting_bloom", {rate, rate, rate, rate}, 0, {}, words_of(shape), {}};
  entry.make = [shape](std::span<const KeyHash>) { return wrapped(filter::CountingBloom::make(shape)); };
  return entry;
}

Entry weighted_entry(const Needs &needs) {
  const build::WeightedSize size =
      build::size_weighted_bloom({needs.keys, needs.bits, needs.known, needs.mass});
  Entry entry{"weighted_bloom", {}, 0, {}, words_of(size.cells), {}};
  double plain = 0, dear = 0; // dear: keys of the classes
  for (const auto &c : size.classes) {
    entry.classes.push_back(c.end);
    entry.shape += fmt::format(", {} for the first {}", c.hashes, c.end);
    plain += static_cast<double>(c.end - c.first) * c.rate;
    dear += static_cast<double>(c.end - c.first);
    entry.guarded = c.end;
  }
  const auto all = static_cast<double>(needs.mass.size() - 1);
  plain = (plain + (all - dear) * size.unknown) / all;
  entry.predicted = {size.weighted, plain, size.weighted, plain};
  entry.make = [size](std::span<const KeyHash> negatives) {
    return wrapped(build::build_weighted_bloom(size, negatives));
  };
  return entry;
}

void give_stack(Entry &entry, const filter::StackedCountingShape &s, std::uint64_t known) {
  entry.guarded = known;
  entry.classes = {known};
  entry.shape = fmt::format("layer 1 {}; layer 2 {}; layer 3 {}; {} negatives known", words_of(s.positives),
                            words_of(s.negatives), words_of(s.settled), known);
  entry.make = [s, known](std::span<const KeyHash> negatives) -> Made {
    auto stack = filter::StackedCounting::make(s);
    if (!stack) return std::unexpected(stack.error());
    for (const KeyHash negative : negatives.first(known))
      if (const Status learnt = stack->learn(negative); !learnt) return std::unexpected(learnt.error());
    return wrapped(std::move(stack));
  };
}

Entry equal_stack_entry(const Needs &needs) {
  constexpr std::uint64_t around = 4096; // headers, and what pads three layers to lines
  Entry entry{"stacked_counting", {}, 0, {}, "no stack fits", {}};
  const auto size = build::size_equal_stack(
      {needs.keys, needs.bits - std::min(needs.bits / 2, around), needs.known, needs.mass});
  if (!size) return entry;
  give_stack(entry, size->shape, size->known);
  const double share = static_cast<double>(size->known) / static_cast<double>(needs.mass.size() - 1);
  const double plain = share * size->kept + (1 - share) * size->unknown;
  entry.predicted = {size->weighted, plain, size->weighted, plain};
  return entry;
}

Entry best_stack_entry(const SeesawTask &task, const Needs &needs) {
  Entry entry{"stacked_optimised", {}, 0, {}, "no stack fits", {}};
  const auto plan = plan::size_allow_stack({.keys = needs.keys,
                                            .bits_total = needs.bits,
                                            .costs = known_costs(needs),
                                            .turnover = task.rounds * task.churn});
  if (!plan) return entry;
  give_stack(entry, plan->params.shape, plan->known);
  const double share = static_cast<double>(plan->known) / static_cast<double>(needs.mass.size() - 1);
  entry.predicted = {plan->weighted_fresh(), plan->fresh.weighted(share), plan->weighted_churned(),
                     plan->churned.weighted(share)};
  return entry;
}

Entry cuckoo_entry(const Needs &needs) {
  const auto shape = filter::CuckooFilter::shape_for(needs.keys, needs.bits);
  Entry entry{"cuckoo", {}, 0, {}, "no fingerprint fits", {}};
  if (!shape) return entry;
  const double rate = filter::cuckoo_rate(*shape, needs.keys);
  entry.predicted = {rate, rate, rate, rate};
  entry.shape =
      fmt::format("{} buckets of four fingerprints of {} bits", shape->buckets, shape->fingerprint_bits);
  entry.make = [shape = *shape](std::span<const KeyHash>) {
    return wrapped(filter::CuckooFilter::make(shape));
  };
  return entry;
}

} // namespace

Needs needs_of(const SeesawTask &task) {
  Needs needs;
  needs.keys = task.keys;
  needs.bits = static_cast<std::uint64_t>(std::llround(task.bits * static_cast<double>(task.keys)));
  needs.known = static_cast<std::uint64_t>(std::ceil(task.vulnerable * static_cast<double>(task.negatives)));
  needs.mass.assign(task.negatives + 1, 0);
  for (std::uint64_t rank = 1; rank <= task.negatives; ++rank)
    needs.mass[rank] = needs.mass[rank - 1] + std::pow(static_cast<double>(rank), -task.skew);
  const double all = needs.mass.back();
  for (double &m : needs.mass) m /= all;
  return needs;
}

Result<std::vector<Entry>> entries_for(const SeesawTask &task, const Needs &needs) {
  const auto wanted = [&](std::string_view name) {
    return task.only.empty() || std::ranges::find(task.only, name) != task.only.end();
  };
  std::vector<Entry> entries;
  if (wanted("seesaw")) {
    auto entry = seesaw_entry(task, needs);
    if (!entry) return std::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  if (wanted("counting_bloom")) entries.push_back(counting_entry(needs));
  if (wanted("weighted_bloom")) entries.push_back(weighted_entry(needs));
  if (wanted("stacked_counting")) entries.push_back(equal_stack_entry(needs));
  if (wanted("stacked_optimised")) entries.push_back(best_stack_entry(task, needs));
  if (wanted("cuckoo")) entries.push_back(cuckoo_entry(needs));
  return entries;
}

} // namespace weir::lab
