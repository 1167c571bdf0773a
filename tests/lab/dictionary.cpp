#include "tests/lab/dictionary.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/keys.hpp"
#include "tests/support/standings.hpp"
#include "weir/build/chained_and_builder.hpp"
#include "weir/build/chained_and_not_builder.hpp"
#include "weir/build/chained_and_shared_builder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <random>

namespace weir::lab {
namespace {

constexpr std::uint64_t unseen_asked = 1'000'000;

struct Universe {
  std::vector<KeyHash> positives, negatives, unseen;
  std::vector<KeyHash> questions; // all of the universe, in no order

  explicit Universe(const DictionaryTask &task) {
    const auto count =
        static_cast<std::uint64_t>(std::llround(task.lambda * static_cast<double>(task.positives)));
    positives = make_keys(KeySet::ycsb, Side::positive, task.positives, task.seed);
    negatives = make_keys(KeySet::ycsb, Side::negative, count + unseen_asked, task.seed);
    unseen.assign(negatives.end() - unseen_asked, negatives.end());
    negatives.resize(count);
    questions = positives;
    questions.insert(questions.end(), negatives.begin(), negatives.end());
    std::ranges::shuffle(questions, std::mt19937_64(task.seed));
  }
};

struct DictionarySamples {
  std::vector<double> build, query, batch;
};

// What a loop found, so that none is left out by the compiler.
volatile std::uint64_t found_last;

template <class Filter> std::uint64_t one_by_one(const Filter &view, std::span<const KeyHash> keys) {
  std::uint64_t found = 0;
  for (const KeyHash key : keys) found += view.contains(key) ? 1 : 0;
  return found;
}
template <class Filter> std::uint64_t in_batches(const Filter &view, std::span<const KeyHash> keys) {
  std::uint64_t found = 0;
  for (std::size_t at = 0; at < keys.size(); at += filter::batch_max)
    found += static_cast<unsigned>(
        std::popcount(view.contains_batch(keys.subspan(at, std::min(filter::batch_max, keys.size() - at)))));
  return found;
}

// Nanoseconds a key.
template <class Work> double timed(std::size_t keys, Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) / static_cast<double>(keys);
}

// `build(seed)` gives a Result of a filter. The first round also counts what is wrong.
template <class Build>
Status take_round(const Universe &universe, Build build, std::uint64_t seed, DictionaryFilter &out,
                  DictionarySamples &samples) {
  decltype(build(seed)) built = fail(Errc::usage, "not built");
  samples.build.push_back(timed(universe.questions.size(), [&] { built = build(seed); }));
  if (!built) return std::unexpected(built.error());
  const auto view = built->view();
  samples.query.push_back(
      timed(universe.questions.size(), [&] { found_last = one_by_one(view, universe.questions); }));
  samples.batch.push_back(
      timed(universe.questions.size(), [&] { found_last = in_batches(view, universe.questions); }));
  if (out.bits_per_positive != 0) return {};
  out.bits_per_positive = static_cast<double>(built->bits()) / static_cast<double>(universe.positives.size());
  out.errors =
      universe.positives.size() - one_by_one(view, universe.positives) + one_by_one(view, universe.negatives);
  out.unseen_rate = static_cast<double>(in_batches(view, universe.unseen)) / unseen_asked;
  return {};
}

void take_medians(const DictionarySamples &samples, DictionaryFilter &out) {
  out.build_ns = bench::figure_of(samples.build).median;
  out.query_ns = bench::figure_of(samples.query).median;
  out.query_batch_ns = bench::figure_of(samples.batch).median;
}

template <unsigned ways>
using AndNot = build::ChainedAndNot<build::PeeledFilter<filter::PeeledView<filter::FuseShape<ways>>>>;

template <unsigned ways> Result<DictionaryReport> run(const DictionaryTask &task) {
  const Universe universe(task);
  DictionaryReport report{
      .task = task, .chained = {}, .shared = {}, .ribbon = {}, .bloomier = {}, .and_not = {}};
  DictionarySamples chained, shared, ribbon, bloomier, and_not;
  build::ChainedAndNotPlan plan;
  plan.delta = task.delta;
  for (unsigned round = 0; round < task.rounds; ++round) {
    const std::uint64_t seed = task.seed + round;
    TRY(take_round(
        universe,
        [&](std::uint64_t s) {
          return build::ChainedAnd<ways>::build(universe.positives, universe.negatives, 1, s);
        },
        seed, report.chained, chained));
    TRY(take_round(
        universe,
        [&](std::uint64_t s) {
          return build::ChainedAndShared<ways>::build(universe.positives, universe.negatives, 1, s);
        },
        seed, report.shared, shared));
    TRY(take_round(
        universe,
        [&](std::uint64_t s) {
          return build::ChainedAndRibbon::build(universe.positives, universe.negatives, 1, s);
        },
        seed, report.ribbon, ribbon));
    TRY(take_round(
        universe,
        [&](std::uint64_t s) {
          return build::exact_bloomier<ways>(universe.positives, universe.negatives, 1, s);
        },
        seed, report.bloomier, bloomier));
    TRY(take_round(
        universe,
        [&](std::uint64_t s) {
          auto built = AndNot<ways>::build(universe.positives, universe.negatives, plan, 1, s);
          if (built) report.and_not_layers = built->layers().size();
          return built;
        },
        seed, report.and_not, and_not));
  }
  take_medians(and_not, report.and_not);
  take_medians(chained, report.chained);
  take_medians(shared, report.shared);
  take_medians(ribbon, report.ribbon);
  take_medians(bloomier, report.bloomier);
  report.build_speedup = bench::ratio_of(bloomier.build, chained.build).median;
  report.query_speedup = bench::ratio_of(bloomier.query, chained.query).median;
  report.query_batch_speedup = bench::ratio_of(bloomier.batch, chained.batch).median;
  report.shared_build_speedup = bench::ratio_of(bloomier.build, shared.build).median;
  report.shared_query_speedup = bench::ratio_of(bloomier.query, shared.query).median;
  report.shared_query_batch_speedup = bench::ratio_of(bloomier.batch, shared.batch).median;
  report.ribbon_build_speedup = bench::ratio_of(bloomier.build, ribbon.build).median;
  report.ribbon_query_speedup = bench::ratio_of(bloomier.query, ribbon.query).median;
  report.ribbon_query_batch_speedup = bench::ratio_of(bloomier.batch, ribbon.batch).median;
  report.and_not_build_speedup = bench::ratio_of(bloomier.build, and_not.build).median;
  report.and_not_query_speedup = bench::ratio_of(bloomier.query, and_not.query).median;
  report.and_not_query_batch_speedup = bench::ratio_of(bloomier.batch, and_not.batch).median;
  const auto n = static_cast<double>(task.positives);
  report.first_bits = build::chained_and_first_bits(task.lambda);
  report.second_keys = build::chained_and_second_keys(task.lambda);
  const auto slots_per_key = [](double keys) {
    return static_cast<double>(filter::FuseShape<ways>::for_keys(keys, 1)->slots()) / keys;
  };
  report.predicted_bits =
      build::chained_and_bits(task.lambda, slots_per_key(n), slots_per_key(report.second_keys * n));
  report.shared_predicted_bits = slots_per_key(n) * (std::ceil(std::log2(std::max(task.lambda, 2.0))) + 2);
  const auto ribbon_slots = [](double keys, unsigned bits) {
    return static_cast<double>(build::RibbonFilter::Shape::for_keys(keys, bits)->bits()) / keys;
  };
  report.ribbon_predicted_bits = (report.first_bits == 0 ? 0 : ribbon_slots(n, report.first_bits)) +
                                 report.second_keys * ribbon_slots(report.second_keys * n, 1);
  report.lower_bound = build::membership_bound(0, task.lambda);
  report.and_not_predicted_bits = build::chained_and_not_bits(task.lambda, task.delta, slots_per_key(n));
  report.and_not_bits_max = build::chained_and_not_half_bits(task.lambda, slots_per_key(n));
  report.and_not_infimum = build::chained_and_not_infimum(task.lambda, slots_per_key(n));
  return report;
}

nlohmann::ordered_json json_of(const DictionaryFilter &filter) {
  return {{"bits_per_positive", filter.bits_per_positive},
          {"errors", filter.errors},
          {"unseen_rate", filter.unseen_rate},
          {"build_ns", filter.build_ns},
          {"query_ns", filter.query_ns},
          {"query_batch_ns", filter.query_batch_ns}};
}

} // namespace

Result<DictionaryReport> run_dictionary(const DictionaryTask &task) {
  return task.ways == 3 ? run<3>(task) : run<4>(task);
}

std::string json_of(const DictionaryReport &report) {
  nlohmann::ordered_json json;
  json["positives"] = report.task.positives;
  json["lambda"] = report.task.lambda;
  json["ways"] = report.task.ways;
  json["delta"] = report.task.delta;
  json["seed"] = report.task.seed;
  json.update(json_of(report.chained));
  json["lower_bound"] = report.lower_bound;
  json["overhead"] = report.chained.bits_per_positive / report.lower_bound - 1;
  json["predicted_bits_per_positive"] = report.predicted_bits;
  json["first_stage_bits"] = report.first_bits;
  json["second_stage_keys_per_positive"] = report.second_keys;
  json["shared_slots"] = json_of(report.shared);
  json["shared_slots"]["predicted_bits_per_positive"] = report.shared_predicted_bits;
  json["ribbon"] = json_of(report.ribbon);
  json["ribbon"]["predicted_bits_per_positive"] = report.ribbon_predicted_bits;
  json["ribbon"]["overhead"] = report.ribbon.bits_per_positive / report.lower_bound - 1;
  json["ribbon"]["build_speedup"] = report.ribbon_build_speedup;
  json["ribbon"]["query_speedup"] = report.ribbon_query_speedup;
  json["ribbon"]["query_batch_speedup"] = report.ribbon_query_batch_speedup;
  json["exact_bloomier"] = json_of(report.bloomier);
  json["and_not"] = json_of(report.and_not);
  json["and_not"]["layers"] = report.and_not_layers;
  json["and_not"]["predicted_bits_per_positive"] = report.and_not_predicted_bits;
  if (report.task.delta == 0.5) json["and_not"]["bits_per_positive_max"] = report.and_not_bits_max;
  json["and_not"]["infimum"] = report.and_not_infimum;
  json["and_not"]["overhead"] = report.and_not.bits_per_positive / report.lower_bound - 1;
  json["and_not"]["build_speedup"] = report.and_not_build_speedup;
  json["and_not"]["query_speedup"] = report.and_not_query_speedup;
  json["and_not"]["query_batch_speedup"] = report.and_not_query_batch_speedup;
  json["space_saved"] = 1 - report.chained.bits_per_positive / report.bloomier.bits_per_positive;
  json["build_speedup"] = report.build_speedup;
  json["query_speedup"] = report.query_speedup;
  json["query_batch_speedup"] = report.query_batch_speedup;
  json["shared_build_speedup"] = report.shared_build_speedup;
  json["shared_query_speedup"] = report.shared_query_speedup;
  json["shared_query_batch_speedup"] = report.shared_query_batch_speedup;
  return json.dump(2);
}

} // namespace weir::lab
