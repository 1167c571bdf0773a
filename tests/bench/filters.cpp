// The base filters beside one another, each made for one wrong answer in 256: the bits that costs, the rate
// that comes out, and the time of a key added, absent or present, one at a time and in batches of 64.
//
// Keys come hashed. All filters take turns over the same questions, a stretch of its own for each round. A
// single question may overlap with the next one, as in any loop; "add" is that of all keys into a fresh
// filter, its memory included, and for filters that are built at once the time of that for each key.
//
// Then what gives a value of eight bits for each key, by the same rules: retrievals, and Othello hashing.
#include "tests/bench/bench.hpp"
#include "weir/build/chained_filter.hpp"
#include "weir/build/othello_builder.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/ribbon_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <memory>

namespace weir::bench {
namespace {

using Keys = std::span<const KeyHash>;
constexpr double rate_wanted = 1.0 / 256;

// What is asked in one round. First something else, untimed: who asks first would find cold caches.
struct Round {
  Keys warm, absent, present;
};

// One filter with the time that its keys took, in every round.
struct Times {
  std::vector<double> add, absent, absent_batch, present, present_batch;
};

class Entrant {
public:
  virtual ~Entrant() = default;
  virtual void add(Keys keys) = 0; // into a fresh one
  virtual void ask(const Round &round) = 0;

  std::string name;
  double bits_per_key = 0, rate_expected = 0;
  std::uint64_t absent_asked = 0, absent_accepted = 0;
  Times times;
};

template <class F> class EntrantOf : public Entrant {
public:
  EntrantOf(const char *called, std::size_t keys) {
    name = called;
    const auto shape = F::shape_for_rate(static_cast<double>(keys), rate_wanted);
    if (!shape) give_up(name + " has no shape for " + std::to_string(keys) + " keys");
    shape_ = *shape;
    bits_per_key = static_cast<double>(shape_.bits()) / static_cast<double>(keys);
    rate_expected = F::rate(shape_, static_cast<double>(keys));
  }

  void add(Keys keys) override {
    filter_.reset();
    const double start = cpu_ns();
    fill(keys);
    times.add.push_back((cpu_ns() - start) / static_cast<double>(keys.size()));
  }

  void ask(const Round &round) override {
    (void)in_batches(round.warm);
    const std::uint64_t absent = timed(times.absent, round.absent, &EntrantOf::singly);
    if (timed(times.absent_batch, round.absent, &EntrantOf::in_batches) != absent)
      give_up(name + ": batches answer otherwise");
    absent_asked += round.absent.size();
    absent_accepted += absent;
    if (timed(times.present, round.present, &EntrantOf::singly) != round.present.size() ||
        timed(times.present_batch, round.present, &EntrantOf::in_batches) != round.present.size())
      give_up(name + " misses a key");
  }

private:
  void fill(Keys keys) {
    if constexpr (filter::StaticFilter<F>) {
      auto built = F::build(keys, shape_, 1, 1);
      if (!built) give_up(built.error().message);
      filter_ = std::move(*built);
    } else {
      filter_ = F::make(shape_, 1).value();
      for (const KeyHash key : keys)
        if (!filter::try_insert(*filter_, key)) give_up(name + " refuses a key");
    }
  }

  std::uint64_t timed(std::vector<double> &to, Keys keys, std::uint64_t (EntrantOf::*count)(Keys) const) {
    const double start = cpu_ns();
    const std::uint64_t found = (this->*count)(keys);
    to.push_back((cpu_ns() - start) / static_cast<double>(keys.size()));
    return found;
  }
  [[gnu::noinline]] std::uint64_t singly(Keys keys) const {
    const auto view = filter_->view();
    std::uint64_t found = 0;
    for (const KeyHash key : keys) found += view.contains(key) ? 1 : 0;
    return found;
  }
  [[gnu::noinline]] std::uint64_t in_batches(Keys keys) const {
    const auto view = filter_->view();
    std::uint64_t found = 0;
    for (std::size_t at = 0; at < keys.size(); at += filter::batch_max)
      found += static_cast<unsigned>(std::popcount(
          view.contains_batch(keys.subspan(at, std::min(filter::batch_max, keys.size() - at)))));
    return found;
  }

  typename F::Shape shape_;
  std::optional<F> filter_;
};

std::vector<std::unique_ptr<Entrant>> entrants(std::size_t keys) {
  std::vector<std::unique_ptr<Entrant>> all;
  all.push_back(std::make_unique<EntrantOf<filter::SplitBlockFilter>>("split-block Bloom", keys));
  all.push_back(std::make_unique<EntrantOf<filter::Bloom>>("Bloom", keys));
  all.push_back(std::make_unique<EntrantOf<filter::CountingBloom>>("counting Bloom", keys));
  all.push_back(std::make_unique<EntrantOf<filter::CuckooFilter>>("cuckoo", keys));
  all.push_back(std::make_unique<EntrantOf<filter::QuotientFilter>>("counting quotient", keys));
  all.push_back(std::make_unique<EntrantOf<build::XorFilter>>("XOR", keys));
  all.push_back(std::make_unique<EntrantOf<build::BinaryFuse>>("binary fuse", keys));
  all.push_back(std::make_unique<EntrantOf<build::BinaryFuse4>>("binary fuse, four-wise", keys));
  all.push_back(std::make_unique<EntrantOf<build::RibbonFilter>>("bumped ribbon", keys));
  all.push_back(std::make_unique<EntrantOf<build::ChainedFilter>>("chained", keys));
  all.push_back(std::make_unique<EntrantOf<build::ChainedSharedFilter>>("chained, shared slots", keys));
  return all;
}

// A table of values: key i of n has i 256 / n.
class ValuesEntrant {
public:
  static constexpr std::uint32_t values = 256;

  virtual ~ValuesEntrant() = default;
  virtual void add(Keys keys) = 0;                       // into a fresh one
  virtual void ask(Keys keys, std::uint64_t wanted) = 0; // `wanted`: the sum of their values

  std::string name;
  double bits_per_key = 0;
  std::vector<double> add_ns, single_ns, batch_ns;
};

template <class Table> class ValuesEntrantOf : public ValuesEntrant {
public:
  ValuesEntrantOf(const char *called, std::size_t keys) {
    name = called;
    const auto shape = Table::Shape::for_keys(static_cast<double>(keys), 8);
    if (!shape) give_up(name + " has no shape for " + std::to_string(keys) + " keys");
    shape_ = *shape;
    bits_per_key = static_cast<double>(shape_.bits()) / static_cast<double>(keys);
  }

  void add(Keys keys) override {
    std::vector<build::KeysOfValue> groups;
    const auto first = [&](std::uint32_t value) { return (value * keys.size() + values - 1) / values; };
    for (std::uint32_t value = 0; value < values; ++value)
      groups.push_back({keys.subspan(first(value), first(value + 1) - first(value)), value});
    table_.reset();
    const double start = cpu_ns();
    auto built = Table::build(groups, shape_, 1, 1);
    if (!built) give_up(built.error().message);
    table_.emplace(std::move(*built));
    add_ns.push_back((cpu_ns() - start) / static_cast<double>(keys.size()));
  }

  void ask(Keys keys, std::uint64_t wanted) override {
    const auto view = table_->view();
    std::array<std::uint32_t, filter::batch_max> found{};
    const double start = cpu_ns();
    std::uint64_t sum = 0;
    for (const KeyHash key : keys) sum += view.value(key);
    const double between = cpu_ns();
    std::uint64_t sum_of_batches = 0;
    for (std::size_t at = 0; at < keys.size(); at += found.size()) {
      const std::size_t count = std::min(found.size(), keys.size() - at);
      view.values(keys.subspan(at, count), found.data());
      for (std::size_t i = 0; i < count; ++i) sum_of_batches += found[i];
    }
    const double end = cpu_ns();
    if (sum != wanted || sum_of_batches != wanted) give_up(name + " has a wrong value");
    single_ns.push_back((between - start) / static_cast<double>(keys.size()));
    batch_ns.push_back((end - between) / static_cast<double>(keys.size()));
  }

private:
  typename Table::Shape shape_;
  std::optional<Table> table_;
};

std::vector<std::unique_ptr<ValuesEntrant>> values_entrants(std::size_t keys) {
  std::vector<std::unique_ptr<ValuesEntrant>> all;
  all.push_back(std::make_unique<ValuesEntrantOf<build::Retrieval<3>>>("retrieval, three-wise", keys));
  all.push_back(std::make_unique<ValuesEntrantOf<build::Retrieval<4>>>("retrieval, four-wise", keys));
  all.push_back(std::make_unique<ValuesEntrantOf<build::RibbonRetrieval>>("retrieval, bumped ribbon", keys));
  all.push_back(std::make_unique<ValuesEntrantOf<build::Othello>>("Othello hashing", keys));
  return all;
}

// Numbers from disjoint ranges never meet: remix is a bijection.
KeyHash key_of(std::uint64_t number) { return {remix({number}, 0x5EEDF117E25ull)}; }

struct Questions {
  std::vector<KeyHash> keys, absent, present;
  std::size_t a_round = 0;

  Questions(std::size_t key_count, std::size_t round_count, std::size_t asked) : a_round(asked) {
    for (std::size_t i = 0; i < key_count; ++i) keys.push_back(key_of(i));
    for (std::size_t i = 0; i < asked * round_count; ++i) {
      absent.push_back(key_of((std::uint64_t{1} << 40) + i));
      present.push_back(keys[remix({i}, 3) % key_count]);
    }
  }
  [[nodiscard]] Round of(std::size_t number) const {
    const auto stretch = [&](const std::vector<KeyHash> &all, std::size_t i) {
      return Keys(all).subspan(i * a_round, a_round);
    };
    const std::size_t before = (number > 0 ? number : present.size() / a_round) - 1;
    return {stretch(present, before), stretch(absent, number), stretch(present, number)};
  }
};

std::string ns(const std::vector<double> &samples) {
  return fmt::format("{:.1f}", figure_of(samples).median);
}

void write(const Entrant &e, std::size_t keys, Grid &grid, JsonLines &lines) {
  const double rate = static_cast<double>(e.absent_accepted) / static_cast<double>(e.absent_asked);
  grid.rows.push_back({count_words(keys), e.name, fmt::format("{:.2f}", e.bits_per_key),
                       fmt::format("{:.3f}", 100 * rate), fmt::format("{:.3f}", 100 * e.rate_expected),
                       ns(e.times.add), ns(e.times.absent), ns(e.times.absent_batch), ns(e.times.present),
                       ns(e.times.present_batch)});
  lines.line({{"bench", "filters"},
              {"filter", e.name},
              {"keys", std::uint64_t{keys}},
              {"bits_per_key", e.bits_per_key},
              {"rate_measured", rate},
              {"rate_expected", e.rate_expected},
              {"add_ns", figure_of(e.times.add).median},
              {"absent_ns", figure_of(e.times.absent).median},
              {"absent_batch_ns", figure_of(e.times.absent_batch).median},
              {"present_ns", figure_of(e.times.present).median},
              {"present_batch_ns", figure_of(e.times.present_batch).median}});
}

void measure(const Options &options, std::size_t keys, Grid &grid, JsonLines &lines) {
  const unsigned fills = options.quick ? 2 : 5;
  const Questions questions(keys, options.rounds() + 1, options.quick ? 1u << 17 : 1u << 19);
  auto all = entrants(keys);
  for (unsigned fill = 0; fill < fills; ++fill)
    for (const auto &entrant : all) entrant->add(questions.keys);
  for (unsigned round = 0; round <= options.rounds(); ++round) {
    for (const auto &entrant : all) entrant->ask(questions.of(round));
    if (round == 0) // warms up
      for (const auto &entrant : all) {
        Times fresh;
        fresh.add = std::move(entrant->times.add);
        entrant->times = std::move(fresh);
      }
  }
  for (const auto &entrant : all) write(*entrant, keys, grid, lines);
}

void measure_values(const Options &options, std::size_t count, Grid &grid, JsonLines &lines) {
  const std::size_t asked = options.quick ? 1u << 17 : 1u << 19;
  std::vector<KeyHash> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(key_of(i));
  auto all = values_entrants(count);
  for (unsigned fill = 0; fill < (options.quick ? 2 : 5); ++fill)
    for (const auto &entrant : all) entrant->add(keys);
  for (unsigned round = 0; round <= options.rounds(); ++round) {
    std::vector<KeyHash> questions;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < asked; ++i) {
      const std::size_t at = remix({round * asked + i}, 3) % count;
      questions.push_back(keys[at]);
      wanted += at * ValuesEntrant::values / count;
    }
    for (const auto &entrant : all) {
      entrant->ask(questions, wanted);
      if (round != 0) continue; // warms up
      entrant->single_ns.clear();
      entrant->batch_ns.clear();
    }
  }
  for (const auto &e : all) {
    grid.rows.push_back({count_words(count), e->name, fmt::format("{:.2f}", e->bits_per_key), ns(e->add_ns),
                         ns(e->single_ns), ns(e->batch_ns)});
    lines.line({{"bench", "retrieval"},
                {"filter", e->name},
                {"keys", std::uint64_t{count}},
                {"bits_per_key", e->bits_per_key},
                {"add_ns", figure_of(e->add_ns).median},
                {"value_ns", figure_of(e->single_ns).median},
                {"value_batch_ns", figure_of(e->batch_ns).median}});
  }
}

void bench_filters(const Options &options, std::vector<Standing> &) {
  JsonLines lines(options, "filters");
  Grid grid{{"keys", "filter", "bits a key", "rate %", "expected %", "add ns", "absent ns", "in batches",
             "present ns", "in batches"},
            {}};
  measure(options, 1'000'000, grid, lines);
  if (!options.quick) measure(options, 10'000'000, grid, lines);
  show(options, "filters", "base filters, each made for one wrong answer in 256", grid);
  Grid values{{"keys", "table", "bits a key", "add ns", "value ns", "in batches"}, {}};
  measure_values(options, 1'000'000, values, lines);
  if (!options.quick) measure_values(options, 10'000'000, values, lines);
  show(options, "retrieval", "tables of a value of eight bits for each key", values);
}

const Benchmark filters_benchmark{18, "filters", bench_filters};

} // namespace
} // namespace weir::bench
