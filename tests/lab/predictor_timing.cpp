#include "tests/lab/clock.hpp"
#include "tests/lab/emoma.hpp"
#include "tests/lab/predictor.hpp"
#include "tests/lab/self_adaptive.hpp"
#include "tests/support/standings.hpp"

#include <algorithm>
#include <array>

namespace weir::lab {
namespace {

using Tables = OneSlotTables<Record>;

std::vector<Record> make_records(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Record> records(count);
  for (Record &record : records) {
    std::ranges::generate(record.key, [&] { return static_cast<char>('!' + random() % 94); });
    record.value.fill(static_cast<char>(random()));
  }
  return records;
}

struct Workload {
  std::vector<Record> records;
  std::vector<Record> questions; // the same in another order, read one after the other
  Tables tables;                 // of whoever's turn it is

  explicit Workload(const PredictorTask &task)
      : records(
            make_records(static_cast<std::size_t>(static_cast<double>(task.buckets) * task.load), task.seed)),
        questions(records), tables(static_cast<std::uint32_t>(task.buckets / 2)) {
    std::ranges::shuffle(questions, std::mt19937_64(task.seed));
  }
};

struct PredictorSamples {
  std::vector<double> build, query, waiting, batch;
};

// What a loop found, so that none is left out by the compiler.
volatile std::uint64_t found_last;
volatile std::uint64_t zero = 0;

template <class Work> double timed(std::size_t keys, Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) / static_cast<double>(keys);
}

// The bucket that is predicted, then the other one. A value is read as a whole.
[[gnu::always_inline]] inline std::uint64_t ask(const Workload &load, const Record &asked, KeyHash h,
                                                Home home) {
  const Record *record = load.tables.find(h, asked, home);
  if (record == nullptr) record = load.tables.find(h, asked, other(home));
  if (record == nullptr) return 0;
  std::uint64_t found = 0;
  for (std::size_t at = 0; at < sizeof record->value; at += 8)
    found += load_unaligned<std::uint64_t>(record->value.data() + at);
  return found;
}
template <class Predict> std::uint64_t ask_one_by_one(const Workload &load, Predict predict) {
  std::uint64_t found = 0;
  for (const Record &asked : load.questions) {
    const KeyHash h = hash_of(asked);
    found += ask(load, asked, h, predict(h));
  }
  return found;
}
// The same, each over before the next begins.
template <class Predict> std::uint64_t ask_and_wait(const Workload &load, Predict predict) {
  std::uint64_t found = 0;
  const std::uint64_t nothing = zero; // the compiler does not know
  for (std::size_t i = 0; i < load.questions.size(); ++i) {
    const Record &asked = load.questions[i + (found & nothing)];
    const KeyHash h = hash_of(asked);
    found += ask(load, asked, h, predict(h));
  }
  return found;
}
// The same, up to 64 at a time: predicted buckets are prefetched before one is looked at. `predict` gives a mask.
template <class Predict> std::uint64_t ask_in_batches(const Workload &load, Predict predict) {
  std::uint64_t found = 0;
  std::array<KeyHash, filter::batch_max> hashes;
  for (std::size_t first = 0; first < load.questions.size(); first += filter::batch_max) {
    const std::size_t count = std::min(filter::batch_max, load.questions.size() - first);
    for (std::size_t i = 0; i < count; ++i) hashes[i] = hash_of(load.questions[first + i]);
    const filter::HitMask second = predict(std::span(hashes).first(count));
    const auto home = [second](std::size_t i) {
      return (second >> i & 1) != 0 ? Home::table2 : Home::table1;
    };
    for (std::size_t i = 0; i < count; ++i) load.tables.prefetch(hashes[i], home(i));
    for (std::size_t i = 0; i < count; ++i) found += ask(load, load.questions[first + i], hashes[i], home(i));
  }
  return found;
}

template <class One, class Batch>
void take_questions(const Workload &load, PredictorSamples &samples, One one, Batch batch) {
  samples.query.push_back(timed(load.records.size(), [&] { found_last = ask_one_by_one(load, one); }));
  samples.waiting.push_back(timed(load.records.size(), [&] { found_last = ask_and_wait(load, one); }));
  samples.batch.push_back(timed(load.records.size(), [&] { found_last = ask_in_batches(load, batch); }));
}

void store_all(Workload &load) {
  for (const Record &record : load.records)
    std::ignore = cuckoo_insert(load.tables, record, [](KeyHash, Home) {});
}

void take_raw(Workload &load, PredictorSamples &samples) {
  load.tables.clear();
  samples.build.push_back(timed(load.records.size(), [&] { store_all(load); }));
  take_questions(
      load, samples, [](KeyHash) { return Home::table1; },
      [](std::span<const KeyHash>) { return filter::HitMask{0}; });
}

// Rounds of questions until no prediction is wrong.
void train(const Workload &load, TrainedChain &chain, unsigned most) {
  for (unsigned round = 0; round < most; ++round) {
    std::size_t wrong = 0;
    for (const Record &record : load.records) {
      const KeyHash h = hash_of(record);
      const Home home = load.tables.find(h, record, Home::table1) != nullptr ? Home::table1 : Home::table2;
      wrong += chain.predict(h) != home ? 1 : 0;
      chain.train(h, home);
    }
    if (wrong == 0) return;
  }
}

Status take_chain(const PredictorTask &task, bool exact_last, Workload &load, PredictorSamples &samples,
                  std::vector<double> &training) {
  const double lambda = build::cuckoo_lambda(task.load);
  const double positives = static_cast<double>(load.records.size()) / (lambda + 1);
  const auto bits = static_cast<std::uint64_t>(positives * build::predictor_bits(lambda));
  load.tables.clear();
  TrainedChain chain = TRY(TrainedChain::make(positives, lambda, bits, exact_last, task.seed));
  samples.build.push_back(timed(load.records.size(), [&] {
    store_all(load);
    load.tables.each(Home::table2, [&](const Record &record) { chain.train(hash_of(record), Home::table2); });
  }));
  training.push_back(timed(load.records.size(), [&] { train(load, chain, task.training_rounds); }));
  take_questions(
      load, samples, [&](KeyHash h) { return chain.predict(h); },
      [&](std::span<const KeyHash> hashes) { return chain.predict_batch(hashes); });
  return {};
}

void take_emoma(Workload &load, PredictorSamples &samples) {
  load.tables.clear();
  Emoma<Record> emoma(load.tables);
  samples.build.push_back(timed(load.records.size(), [&] {
    for (const Record &record : load.records) emoma.insert(record);
  }));
  take_questions(
      load, samples, [&](KeyHash h) { return emoma.predict(h); },
      [&](std::span<const KeyHash> hashes) {
        filter::HitMask second = 0;
        for (std::size_t i = 0; i < hashes.size(); ++i)
          second |= filter::HitMask{emoma.predict(hashes[i]) == Home::table2} << i;
        return second;
      });
}

Status take_bloom(const PredictorTask &task, Workload &load, PredictorSamples &samples) {
  load.tables.clear();
  const auto words =
      static_cast<std::uint32_t>(build::emoma_bits_per_bucket * static_cast<double>(task.buckets) / 64);
  filter::Bloom bloom =
      TRY(filter::Bloom::make({.size = words, .hashes = bloom_predictor_hashes}, task.seed));
  samples.build.push_back(timed(load.records.size(), [&] {
    store_all(load);
    load.tables.each(Home::table2, [&](const Record &record) { bloom.insert(hash_of(record)); });
  }));
  take_questions(
      load, samples,
      [&](KeyHash h) { return bloom.contains_batch({&h, 1}) != 0 ? Home::table2 : Home::table1; },
      [&](std::span<const KeyHash> hashes) { return bloom.contains_batch(hashes); });
  return {};
}

PredictorTimes times_of(const PredictorSamples &own, const PredictorSamples &emoma,
                        const PredictorSamples &raw) {
  return {.build = bench::figure_of(own.build).median,
          .query = bench::figure_of(own.query).median,
          .waiting = bench::figure_of(own.waiting).median,
          .batch = bench::figure_of(own.batch).median,
          .build_ratio = bench::ratio_of(emoma.build, own.build).median,
          .query_ratio = bench::ratio_of(emoma.query, own.query).median,
          .waiting_ratio = bench::ratio_of(emoma.waiting, own.waiting).median,
          .batch_ratio = bench::ratio_of(emoma.batch, own.batch).median,
          .query_over_raw = bench::ratio_of(raw.query, own.query).median,
          .waiting_over_raw = bench::ratio_of(raw.waiting, own.waiting).median,
          .batch_over_raw = bench::ratio_of(raw.batch, own.batch).median};
}

} // namespace

Result<PredictorTiming> time_predictors(const PredictorTask &task) {
  Workload load(task);
  PredictorSamples raw, chain, exact_last, emoma, bloom;
  std::vector<double> training, training_exact;
  take_raw(load, raw); // the first to touch the tables: not counted
  raw = {};
  for (unsigned round = 0; round < task.rounds; ++round) {
    take_raw(load, raw);
    TRY(take_chain(task, false, load, chain, training));
    TRY(take_chain(task, true, load, exact_last, training_exact));
    take_emoma(load, emoma);
    TRY(take_bloom(task, load, bloom));
  }
  return PredictorTiming{.raw = times_of(raw, emoma, raw),
                         .chain = times_of(chain, emoma, raw),
                         .exact_last = times_of(exact_last, emoma, raw),
                         .emoma = times_of(emoma, emoma, raw),
                         .bloom = times_of(bloom, emoma, raw),
                         .chain_train_ns = bench::figure_of(training).median};
}

} // namespace weir::lab
