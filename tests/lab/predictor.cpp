#include "tests/lab/predictor.hpp"

#include "tests/lab/emoma.hpp"
#include "tests/lab/self_adaptive.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::lab {
namespace {

constexpr std::uint64_t absent_asked = 1'000'000;

struct Sizes {
  double positives, lambda;
  std::uint64_t chain_bits, rival_bits;

  explicit Sizes(const PredictorTask &task) {
    const double keys = static_cast<double>(task.buckets) * task.load;
    lambda = build::cuckoo_lambda(task.load);
    positives = keys / (lambda + 1);
    const double each = task.size == PredictorSize::table3 ? build::predictor_bits(lambda)
                                                           : build::predictor_bits_least(lambda);
    chain_bits = static_cast<std::uint64_t>(positives * each * task.room);
    rival_bits = static_cast<std::uint64_t>(build::emoma_bits_per_bucket * static_cast<double>(task.buckets));
  }
  [[nodiscard]] Result<TrainedChain> chain(bool exact_last, std::uint64_t seed) const {
    return TrainedChain::make(positives, lambda, chain_bits, exact_last, seed);
  }
};

// What one seed's training came to.
void note(std::vector<double> errors, bool first, TrainedFigures &out) {
  if (errors.back() == 0) out.rounds_to_zero.push_back(static_cast<unsigned>(errors.size() - 1));
  out.worst_left = std::max(out.worst_left, errors.back());
  if (first) out.errors_per_round = std::move(errors);
}

double error_of_bloom(const filter::Bloom &bloom, const StoredKeys &stored) {
  std::size_t wrong = 0;
  for (const KeyHash key : stored.keys())
    wrong += bloom.contains(key) != (stored.home(key) == Home::table2) ? 1 : 0;
  return static_cast<double>(wrong) / static_cast<double>(stored.keys().size());
}

// Keys go and come, then each is asked for once.
void churn(const PredictorTask &task, StoredKeys &stored, TrainedChain &chain, TrainedChain &exact,
           filter::Bloom &bloom, PredictorReport &report) {
  const auto count =
      static_cast<std::size_t>(std::llround(task.churn * static_cast<double>(stored.keys().size())));
  for (unsigned step = 0; step < task.steps; ++step) {
    stored.replace(
        count, [&](KeyHash key) { exact.forget(key); },
        [&](KeyHash key, Home home) {
          if (home == Home::table1) return; // not before it is asked for
          chain.train(key, home);
          exact.train(key, home);
          bloom.insert(key);
        });
    ask_for_all(chain, stored);
    ask_for_all(exact, stored);
    report.chain.errors_per_step.push_back(error_of(chain, stored));
    report.exact_last.errors_per_step.push_back(error_of(exact, stored));
    report.bloom.errors_per_step.push_back(error_of_bloom(bloom, stored));
  }
}

RivalFigures ask_bloom(const filter::Bloom &bloom, const StoredKeys &stored, std::uint64_t seed) {
  RivalFigures out;
  out.bits = static_cast<double>(bloom.bits());
  out.errors = error_of_bloom(bloom, stored);
  out.accesses = 1 + out.errors;
  // What it rejects is not in table 2, so that table 1 alone is read.
  std::mt19937_64 random(remix({seed}, 1));
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < absent_asked; ++i) accepted += bloom.contains({random()}) ? 1 : 0;
  out.accesses_absent = 1 + static_cast<double>(accepted) / absent_asked;
  return out;
}

RivalFigures ask_emoma(const PredictorTask &task, std::span<const KeyHash> keys) {
  OneSlotTables<KeyHash> tables(static_cast<std::uint32_t>(task.buckets / 2));
  Emoma<KeyHash> emoma(tables);
  for (const KeyHash key : keys) emoma.insert(key);
  std::size_t wrong = 0, unplaced = 0;
  for (const KeyHash key : keys) {
    const Home home = emoma.predict(key);
    if (tables.find(key, key, home) != nullptr) continue;
    (tables.find(key, key, other(home)) != nullptr ? wrong : unplaced) += 1;
  }
  const auto count = static_cast<double>(keys.size());
  return {.bits = static_cast<double>(emoma.bits()),
          .errors = static_cast<double>(wrong) / count,
          .unplaced = static_cast<double>(unplaced) / count,
          .accesses = 1 + static_cast<double>(wrong) / count,
          .accesses_absent = 1,
          .errors_per_step = {}};
}

Status run_seed(const PredictorTask &task, const Sizes &sizes, std::uint64_t seed, PredictorReport &report) {
  const bool first = seed == task.seed;
  TrainedChain chain = TRY(sizes.chain(false, seed)), exact = TRY(sizes.chain(true, seed));
  StoredKeys stored(task.buckets, task.load, seed);
  note(train_by_questions(chain, stored, task.training_rounds), first, report.chain);
  note(train_by_questions(exact, stored, task.training_rounds), first, report.exact_last);
  if (!first) return {};
  report.keys = stored.keys().size();
  const auto second = static_cast<double>(stored.in_table2()), keys = static_cast<double>(report.keys);
  report.lambda = (keys - second) / second;
  report.accesses_raw = 1 + second / keys;
  report.chain.bits = static_cast<double>(chain.bits());
  report.exact_last.bits = static_cast<double>(exact.bits());
  filter::Bloom bloom = TRY(filter::Bloom::make(
      {.size = static_cast<std::uint32_t>(sizes.rival_bits / 64), .hashes = bloom_predictor_hashes}, seed));
  for (const KeyHash key : stored.keys())
    if (stored.home(key) == Home::table2) bloom.insert(key);
  report.bloom = ask_bloom(bloom, stored, seed);
  report.emoma = ask_emoma(task, stored.keys());
  if (task.churn > 0) churn(task, stored, chain, exact, bloom, report);
  return {};
}

// ---- as JSON -------------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

Json times_json(const PredictorTimes &times) {
  return {{"build_ns", times.build},
          {"query_ns", times.query},
          {"query_waiting_ns", times.waiting},
          {"query_batch_ns", times.batch},
          {"build_throughput_of_emoma", times.build_ratio},
          {"query_throughput_of_emoma", times.query_ratio},
          {"query_waiting_throughput_of_emoma", times.waiting_ratio},
          {"query_batch_throughput_of_emoma", times.batch_ratio},
          {"query_throughput_of_raw", times.query_over_raw},
          {"query_waiting_throughput_of_raw", times.waiting_over_raw},
          {"query_batch_throughput_of_raw", times.batch_over_raw}};
}

Json trained_json(const TrainedFigures &figures, const PredictorReport &report, const PredictorTimes *times) {
  const double last = figures.errors_per_round.back();
  Json json{{"bits_per_key", figures.bits / static_cast<double>(report.keys)},
            {"mbit", figures.bits / 1e6},
            {"space_of_emoma", figures.bits / report.emoma.bits},
            {"errors_per_round", figures.errors_per_round},
            {"accesses_per_lookup", 1 + last},
            {"accesses_per_absent_lookup", last == 0 ? 1 : 2}, // a prediction never wrong proves absence
            {"rounds_to_zero", figures.rounds_to_zero},
            {"share_of_seeds_at_zero", figures.share_at_zero},
            {"worst_error_left", figures.worst_left}};
  if (!figures.errors_per_step.empty()) json["errors_per_step"] = figures.errors_per_step;
  if (times != nullptr) json.update(times_json(*times));
  return json;
}

Json rival_json(const RivalFigures &figures, const PredictorReport &report, const PredictorTimes *times) {
  Json json{{"bits_per_key", figures.bits / static_cast<double>(report.keys)},
            {"mbit", figures.bits / 1e6},
            {"errors", figures.errors},
            {"unplaced", figures.unplaced},
            {"accesses_per_lookup", figures.accesses},
            {"accesses_per_absent_lookup", figures.accesses_absent}};
  if (!figures.errors_per_step.empty()) json["errors_per_step"] = figures.errors_per_step;
  if (times != nullptr) json.update(times_json(*times));
  return json;
}

// [Chained Table 3], by the model, for as many buckets.
Json table3(std::uint64_t buckets) {
  Json rows = Json::array();
  for (const double load : {0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40}) {
    const double lambda = build::cuckoo_lambda(load), count = static_cast<double>(buckets);
    const double chain = build::predictor_bits(lambda) * load * count / (lambda + 1),
                 emoma = build::emoma_bits_per_bucket * count;
    rows.push_back({{"load", load},
                    {"lambda", lambda},
                    {"emoma_mbit", emoma / 1e6},
                    {"chained_mbit", chain / 1e6},
                    {"saved", 1 - chain / emoma}});
  }
  return rows;
}

} // namespace

Result<PredictorReport> run_predictor(const PredictorTask &task) {
  const Sizes sizes(task);
  PredictorReport report;
  report.task = task;
  report.lambda_expected = sizes.lambda;
  for (unsigned i = 0; i < task.seeds; ++i) TRY(run_seed(task, sizes, task.seed + i, report));
  for (TrainedFigures *figures : {&report.chain, &report.exact_last})
    figures->share_at_zero = static_cast<double>(figures->rounds_to_zero.size()) / task.seeds;
  if (task.rounds > 0) report.ns = TRY(time_predictors(task));
  return report;
}

std::string json_of(const PredictorReport &report) {
  const auto &ns = report.ns;
  const auto times = [&](PredictorTimes PredictorTiming::*of) { return ns ? &((*ns).*of) : nullptr; };
  Json json{{"buckets", report.task.buckets},
            {"load", report.task.load},
            {"size", report.task.size == PredictorSize::table3 ? "table3" : "alg2"},
            {"room", report.task.room},
            {"seed", report.task.seed},
            {"seeds", report.task.seeds},
            {"keys", report.keys},
            {"lambda", report.lambda},
            {"lambda_expected", report.lambda_expected}};
  json.update(trained_json(report.chain, report, times(&PredictorTiming::chain)));
  if (ns) json["train_ns"] = ns->chain_train_ns;
  json["othello"] = trained_json(report.exact_last, report, times(&PredictorTiming::exact_last));
  json["emoma"] = rival_json(report.emoma, report, times(&PredictorTiming::emoma));
  json["bloom"] = rival_json(report.bloom, report, times(&PredictorTiming::bloom));
  json["raw"] = {{"accesses_per_lookup", report.accesses_raw}, {"accesses_per_absent_lookup", 2}};
  if (ns) json["raw"].update(times_json(ns->raw));
  json["table3"] = table3(report.task.buckets);
  return json.dump(2);
}

} // namespace weir::lab
