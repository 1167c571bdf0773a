#include "tests/lab/learned_rival.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/learned_bloom.hpp"
#include "tests/lab/stacked.hpp"
#include "tests/support/standings.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned rival_rounds = 15;
constexpr std::size_t timed_keys = 32'768;
volatile std::uint64_t answers; // keeps the questions from being left out

double psi_of(const RivalTask &task, double skew) {
  double known = 0, all = 0;
  for (std::uint64_t i = 0; i < task.keys.others; ++i) {
    all += std::pow(static_cast<double>(i + 1), -skew);
    if (i + 1 == task.known) known = all;
  }
  return known / all;
}

// Nanoseconds for one of `count` things, a median over rounds.
template <class Work> double ns_of(std::size_t count, Work work) {
  std::vector<double> samples;
  for (unsigned round = 0; round < rival_rounds; ++round) {
    const double start = cpu_ns();
    work();
    samples.push_back((cpu_ns() - start) / static_cast<double>(count));
  }
  return bench::figure_of(samples).median;
}

struct Burst {
  std::vector<learn::FeatureRow> rows;
  std::vector<KeyHash> keys;
};
std::vector<Burst> bursts_of(const LearnableKeys &keys, std::size_t first) {
  std::vector<Burst> out;
  const std::size_t end = std::min(keys.count(), first + timed_keys);
  for (std::size_t i = first; i < end; ++i) {
    if ((i - first) % learn::burst_samples == 0)
      out.push_back({std::vector<learn::FeatureRow>(keys.samples.features), {}});
    for (unsigned f = 0; f < keys.samples.features; ++f)
      out.back().rows[f].of[out.back().keys.size()] = keys.samples.sample(i)[f];
    out.back().keys.push_back(keys.keys[i]);
  }
  return out;
}
double ns_of(const LearnedBloom &filter, const std::vector<Burst> &bursts) {
  return ns_of(bursts.size() * learn::burst_samples, [&] {
    std::uint64_t found = 0;
    for (const Burst &burst : bursts) found += filter.contains(burst.keys, burst.rows);
    answers = found;
  });
}

// From the texts of keys: what trees look at, as a burst's rows, and what filters take.
void time_texts(RivalReport &report) {
  const std::vector<std::string> texts = learnable_texts(report.task.keys, timed_keys);
  std::vector<learn::FeatureRow> rows(url_features);
  std::array<std::uint8_t, url_features> features;
  report.features_ns = ns_of(texts.size(), [&] {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      features_of_url(texts[i], features.data());
      for (unsigned f = 0; f < url_features; ++f) rows[f].of[i % learn::burst_samples] = features[f];
    }
    answers = rows[0].of[0];
  });
  report.hash_ns = ns_of(texts.size(), [&] {
    std::uint64_t sum = 0;
    for (const std::string &text : texts) sum += XXH3_64bits_withSeed(text.data(), text.size(), 1);
    answers = sum;
  });
}

// The same numbers of keys for the stack, which does not look at them.
Status add_stack(const RivalTask &task, RivalRow &row) {
  StackedTask stacked;
  stacked.positives = task.keys.members;
  stacked.negatives = task.keys.others;
  stacked.zipf = row.zipf;
  stacked.keyset = KeySet::urls;
  stacked.known_max = task.known;
  stacked.seed = task.keys.seed;
  stacked.timing = task.timing;
  if (row.wanted_bits) stacked.bits = *row.wanted_bits;
  stacked.efpr = row.wanted_efpr;
  const auto report = run_stacked(stacked);
  if (!report) return std::unexpected(report.error());
  row.stacked = {report->bits_per_key, report->efpr_by_class, report->ns.positive,
                 report->ns.unknown_negative};
  if (row.wanted_bits)
    row.plain = {report->plain_bits_per_key, report->plain_by_class, report->plain_ns.positive,
                 report->plain_ns.unknown_negative};
  if (!row.wanted_efpr) return {};
  const auto n = static_cast<double>(task.keys.members);
  if (const auto shape = filter::Bloom::shape_for_rate(n, *row.wanted_efpr))
    row.plain = {static_cast<double>(shape->bits()) / n, *row.wanted_efpr, 0, 0};
  return {};
}

Status add_learned(const RivalTask &task, const LearnableSet &set, const LearnedChoice &choice, double psi,
                   RivalRow &row) {
  const auto n = static_cast<double>(task.keys.members);
  const ScoredKeys &scored = *choice.scored;
  row.trees = scored.trees ? scored.trees->view().trees() : 0;
  row.model_bits = scored.model_bits();
  row.backup_members = choice.backup_members;
  const LearnedBloom filter = TRY(LearnedBloom::build(choice, set));
  if (filter.share(set.members.keys, scored.members) < 1)
    return fail(Errc::io, "the learned filter misses keys that are present");
  const auto others = std::span(set.others.keys);
  RivalPoint point{static_cast<double>(choice.bits) / n, 0, 0, 0};
  point.efpr = psi * filter.share(others.first(task.known), scored.known) +
               (1 - psi) * filter.share(others.subspan(task.known), scored.unknown);
  if (task.timing) {
    point.ns_present = ns_of(filter, bursts_of(set.members, 0));
    point.ns_absent = ns_of(filter, bursts_of(set.others, task.known));
  }
  row.learned = point;
  return {};
}

} // namespace

Result<RivalReport> run_rival(const RivalTask &task) {
  const LearnableSet set = make_learnable(task.keys);
  RivalReport report{.task = task, .auc_possible = auc_of(set.members.best, set.others.best), .rows = {}};
  const double start = cpu_ns();
  const auto boosted =
      TRY(learn::BoostedTrees::train(training_of(set, task.keys.members, task.known), task.trees));
  report.training_seconds = (cpu_ns() - start) / 1e9;
  std::vector<ScoredKeys> scored;
  scored.push_back(ScoredKeys::of(std::nullopt, set, task.known));
  for (unsigned trees = 2; trees / 2 < task.trees.trees; trees *= 2)
    scored.push_back(
        ScoredKeys::of(TRY(boosted.flatten(std::min(trees, task.trees.trees))), set, task.known));
  report.auc_known = auc_of(scored.back().members, scored.back().known);
  report.auc_unknown = auc_of(scored.back().members, scored.back().unknown);
  if (task.timing) time_texts(report);
  for (const double zipf : task.zipf) {
    const double psi = psi_of(task, zipf);
    const auto n = static_cast<double>(task.keys.members);
    for (const double bits : task.bits) {
      RivalRow row;
      row.zipf = zipf;
      row.wanted_bits = bits;
      TRY(add_stack(task, row));
      TRY(add_learned(task, set, best_for_bits(scored, psi, static_cast<std::uint64_t>(bits * n)), psi, row));
      report.rows.push_back(row);
    }
    for (const double rate : task.efpr) {
      RivalRow row;
      row.zipf = zipf;
      row.wanted_efpr = rate;
      TRY(add_stack(task, row));
      if (const auto choice = least_for_rate(scored, psi, rate))
        TRY(add_learned(task, set, *choice, psi, row));
      report.rows.push_back(row);
    }
  }
  return report;
}

std::string json_of(const RivalReport &report) {
  const RivalTask &task = report.task;
  const auto point = [&](const std::optional<RivalPoint> &p, double before_ns) -> Json {
    if (!p) return nullptr;
    Json json{{"bits_per_key", p->bits_per_key}, {"efpr", p->efpr}};
    if (!task.timing || p->ns_absent == 0) return json;
    json["ns_present"] = p->ns_present;
    json["ns_absent"] = p->ns_absent;
    for (const double iops : task.iops)
      for (const double share : task.positive_shares) {
        const double filter = before_ns + share * p->ns_present + (1 - share) * p->ns_absent;
        json["workload"].push_back({{"iops", iops},
                                    {"positive_share", share},
                                    {"filter_ns", filter},
                                    {"total_ns", filter + (share + (1 - share) * p->efpr) * 1e9 / iops}});
      }
    return json;
  };
  Json json{{"seed", task.keys.seed},
            {"members", task.keys.members},
            {"others", task.keys.others},
            {"known", task.known},
            {"swapped", task.keys.swapped},
            {"auc_possible", report.auc_possible},
            {"auc_known", report.auc_known},
            {"auc_unknown", report.auc_unknown},
            {"training_seconds", report.training_seconds}};
  if (task.timing) {
    json["features_ns"] = report.features_ns;
    json["hash_ns"] = report.hash_ns;
  }
  for (const RivalRow &row : report.rows)
    json["rows"].push_back({{"zipf", row.zipf},
                            {"wanted_bits", row.wanted_bits ? Json(*row.wanted_bits) : Json()},
                            {"wanted_efpr", row.wanted_efpr ? Json(*row.wanted_efpr) : Json()},
                            {"trees", row.trees},
                            {"model_bits", row.model_bits},
                            {"backup_members", row.backup_members},
                            {"learned", point(row.learned, report.features_ns)},
                            {"stacked", point(row.stacked, 0)},
                            {"plain", point(row.plain, 0)}});
  return json.dump(2);
}

} // namespace weir::lab
