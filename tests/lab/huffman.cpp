#include "tests/lab/huffman.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/huffman_arms.hpp"
#include "tests/support/standings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

namespace weir::lab {
namespace {

constexpr unsigned tables_max = filter::huffman_tables_mask; // where each node has its own
constexpr std::size_t asked_max = 2'000'000;

Result<std::vector<std::uint32_t>> countries_in(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return fail(Errc::io, path + ": cannot be read; `make deps-bench` fetches build/geo/usr/share/tor/geoip");
  std::map<std::string, std::uint32_t> number;
  std::vector<std::uint32_t> symbols;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t comma = line.rfind(',');
    if (comma == std::string::npos) return fail(Errc::parse, path + ": '" + line + "' is not first,last,CC");
    symbols.push_back(
        number.try_emplace(line.substr(comma + 1), static_cast<std::uint32_t>(number.size())).first->second);
  }
  return symbols;
}

Result<std::vector<std::uint32_t>> symbols_of(const HuffmanTask &task) {
  if (!task.countries.empty()) return countries_in(task.countries);
  std::mt19937_64 random(task.seed);
  std::vector<std::uint32_t> symbols;
  if (!task.counts.empty()) {
    for (std::uint32_t symbol = 0; symbol < task.counts.size(); ++symbol)
      symbols.insert(symbols.end(), task.counts[symbol], symbol);
    std::ranges::shuffle(symbols, random);
    return symbols;
  }
  std::geometric_distribution<std::uint32_t> law(1 - 1 / task.omega); // the paper's, backwards
  symbols.resize(
      static_cast<std::size_t>(std::llround(static_cast<double>(task.positives) * (task.omega - 1))));
  for (std::uint32_t &symbol : symbols) symbol = law(random);
  return symbols;
}

struct Material {
  std::vector<std::uint32_t> symbols;
  std::vector<KeyHash> keys;
  std::vector<std::uint32_t> order; // which are decoded, in no order
  std::vector<KeyHash> questions;
};

Material material_of(std::vector<std::uint32_t> symbols, std::uint64_t seed) {
  Material m;
  m.symbols = std::move(symbols);
  m.keys.resize(m.symbols.size());
  for (std::size_t i = 0; i < m.keys.size(); ++i) m.keys[i] = filter::array_key(i);
  std::mt19937_64 random(seed);
  m.order.resize(std::min(asked_max, m.symbols.size()));
  for (std::uint32_t &at : m.order) at = static_cast<std::uint32_t>(random() % m.symbols.size());
  for (const std::uint32_t at : m.order) m.questions.push_back(m.keys[at]);
  return m;
}

struct HuffmanSamples {
  std::vector<double> build, single, batch;
};

template <class Work> double timed_ns(std::size_t symbols, Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) / static_cast<double>(symbols);
}

volatile std::uint64_t sum_last; // of what a loop found, so that none is left out by the compiler

void in_batches(const auto &map, std::span<const KeyHash> keys, const auto &take) {
  std::array<std::uint32_t, filter::batch_max> found;
  for (std::size_t at = 0; at < keys.size(); at += filter::batch_max) {
    const std::size_t count = std::min(filter::batch_max, keys.size() - at);
    map.values(keys.subspan(at, count), found.data());
    for (std::size_t i = 0; i < count; ++i) take(at + i, found[i]);
  }
}

template <class Map> const auto &asked(const Map &map) {
  if constexpr (requires { map.view(); })
    return map.view();
  else
    return map;
}

// `build()` gives a Result of a map. The first round also counts what is decoded wrongly, one by one and in batches.
template <class Build>
Status take_round(const Material &m, Build build, HuffmanArm &arm, HuffmanSamples &samples) {
  decltype(build()) built = fail(Errc::usage, "not built");
  samples.build.push_back(timed_ns(m.keys.size(), [&] { built = build(); }));
  if (!built) return std::unexpected(built.error());
  const auto &map = asked(*built);
  samples.single.push_back(timed_ns(m.questions.size(), [&] {
    std::uint64_t sum = 0;
    for (const KeyHash key : m.questions) sum += map.value(key);
    sum_last = sum;
  }));
  samples.batch.push_back(timed_ns(m.questions.size(), [&] {
    std::uint64_t sum = 0;
    in_batches(map, m.questions, [&](std::size_t, std::uint32_t symbol) { sum += symbol; });
    sum_last = sum;
  }));
  const auto n = static_cast<double>(m.symbols.size());
  if (arm.bits_per_symbol != 0) return {};
  arm.bits_per_symbol = static_cast<double>(built->bits()) / n;
  if constexpr (requires { built->plan(); }) {
    arm.predicted_bits_per_symbol = built->plan().bits / n;
    arm.tables = built->plan().firsts.size() + built->plan().seconds.size();
  }
  for (std::size_t i = 0; i < m.keys.size(); ++i) arm.decode_errors += map.value(m.keys[i]) != m.symbols[i];
  in_batches(map, m.keys,
             [&](std::size_t i, std::uint32_t symbol) { arm.decode_errors += symbol != m.symbols[i]; });
  return {};
}

void take_medians(const HuffmanSamples &samples, const HuffmanSamples &strawman, HuffmanArm &arm) {
  arm.build_ns = bench::figure_of(samples.build).median;
  arm.decode_ns = bench::figure_of(samples.single).median;
  arm.decode_batch_ns = bench::figure_of(samples.batch).median;
  arm.build_times = bench::ratio_of(samples.build, strawman.build).median;
  arm.decode_times = bench::ratio_of(samples.single, strawman.single).median;
  arm.decode_batch_times = bench::ratio_of(samples.batch, strawman.batch).median;
}

template <unsigned ways> Result<HuffmanReport> run(const HuffmanTask &task) {
  using build::HuffmanTables;
  HuffmanReport report{};
  report.task = task;
  const Material m = material_of(TRY(symbols_of(task)), task.seed);
  report.symbols = m.symbols.size();
  HuffmanSamples chained, one_for_all, one_a_node, shared, ribbon, strawman;
  std::vector<double> sequential;
  build::HuffmanTree tree;
  for (unsigned round = 0; round < task.rounds; ++round) {
    const std::uint64_t seed = task.seed + round;
    const auto map = [&](HuffmanTables tables) {
      return [&, tables] { return build::HuffmanMap<ways>::build(m.keys, m.symbols, seed, tables); };
    };
    TRY(take_round(
        m,
        [&] {
          auto built = build::HuffmanMap<ways>::build(m.keys, m.symbols, seed);
          if (built && tree.keys == 0) tree = built->plan().tree;
          return built;
        },
        report.chained, chained));
    TRY(take_round(m, map(HuffmanTables::one_for_all), report.one_for_all, one_for_all));
    TRY(take_round(
        m,
        [&] {
          return build::HuffmanMap<ways, tables_max, tables_max>::build(m.keys, m.symbols, seed,
                                                                        HuffmanTables::one_a_node);
        },
        report.one_a_node, one_a_node));
    TRY(take_round(
        m, [&] { return SharedHuffman<ways>::build(m.keys, m.symbols, seed); }, report.shared, shared));
    TRY(take_round(m, [&] { return RibbonHuffman::build(m.keys, m.symbols, seed); }, report.ribbon, ribbon));
    TRY(take_round(m, map(HuffmanTables::exact_alone), report.strawman, strawman));
    const SequentialHuffman row(tree, m.symbols);
    sequential.push_back(timed_ns(m.symbols.size(), [&] {
      std::uint64_t sum = 0;
      row.decode([&](std::uint32_t symbol) { sum += symbol; });
      sum_last = sum;
    }));
  }
  report.distinct = tree.leaves.size();
  report.entropy = tree.entropy();
  report.huffman_bits = tree.code_bits();
  report.sequential_ns = bench::figure_of(sequential).median;
  take_medians(chained, strawman, report.chained);
  take_medians(one_for_all, strawman, report.one_for_all);
  take_medians(one_a_node, strawman, report.one_a_node);
  take_medians(shared, strawman, report.shared);
  take_medians(ribbon, strawman, report.ribbon);
  take_medians(strawman, strawman, report.strawman);
  report.theorem_5_1 = 0.22;
  const double asked = report.huffman_bits * static_cast<double>(report.symbols); // bits of code
  const double c = static_cast<double>(filter::FuseShape<ways>::for_keys(asked, 1)->slots()) / asked;
  report.corrected_bound = build::huffman_overhead_bound(c, report.huffman_bits);
  return report;
}

nlohmann::ordered_json json_of(const HuffmanArm &arm, double entropy) {
  nlohmann::ordered_json json{{"bits_per_symbol", arm.bits_per_symbol},
                              {"over_entropy", arm.bits_per_symbol - entropy},
                              {"decode_errors", arm.decode_errors}};
  if (arm.tables != 0) {
    json["predicted_bits_per_symbol"] = arm.predicted_bits_per_symbol;
    json["tables"] = arm.tables;
  }
  json.update({{"build_ns", arm.build_ns},
               {"decode_ns", arm.decode_ns},
               {"decode_batch_ns", arm.decode_batch_ns},
               {"build_times_strawman", arm.build_times},
               {"decode_times_strawman", arm.decode_times},
               {"decode_batch_times_strawman", arm.decode_batch_times}});
  return json;
}

} // namespace

Result<HuffmanReport> run_huffman(const HuffmanTask &task) {
  return task.ways == 3 ? run<3>(task) : run<4>(task);
}

std::string json_of(const HuffmanReport &report) {
  const HuffmanTask &task = report.task;
  nlohmann::ordered_json json;
  if (!task.countries.empty())
    json["countries"] = task.countries;
  else if (!task.counts.empty())
    json["counts"] = task.counts;
  else
    json["omega"] = task.omega;
  json["symbols"] = report.symbols;
  json["distinct"] = report.distinct;
  json["ways"] = task.ways;
  json["seed"] = task.seed;
  json["entropy"] = report.entropy;
  json["huffman_bits_per_symbol"] = report.huffman_bits;
  json.update(json_of(report.chained, report.entropy));
  json["over_entropy_bound"] = report.corrected_bound;
  json["over_entropy_theorem_5_1"] = report.theorem_5_1;
  const auto saved = [&](const HuffmanArm &arm) {
    return 1 - arm.bits_per_symbol / report.strawman.bits_per_symbol;
  };
  json["saved"] = saved(report.chained);
  json["one_for_all"] = json_of(report.one_for_all, report.entropy);
  json["one_for_all"]["saved"] = saved(report.one_for_all);
  json["one_a_node"] = json_of(report.one_a_node, report.entropy);
  json["one_a_node"]["saved"] = saved(report.one_a_node);
  json["shared_slots"] = json_of(report.shared, report.entropy);
  json["shared_slots"]["saved"] = saved(report.shared);
  json["ribbon"] = json_of(report.ribbon, report.entropy);
  json["ribbon"]["saved"] = saved(report.ribbon);
  json["strawman"] = json_of(report.strawman, report.entropy);
  json["sequential_ns"] = report.sequential_ns;
  return json.dump(2);
}

} // namespace weir::lab
