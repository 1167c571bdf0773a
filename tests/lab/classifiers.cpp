#include "tests/lab/classifiers.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/learned_model.hpp"
#include "tests/lab/linear.hpp"
#include "tests/support/standings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace weir::lab {
namespace {

volatile float scored_last; // keeps the predictions from being left out

// Predictions of ready features, a median over rounds. `score(at)` scores from sample `at` on and says how many.
template <class Score> double mops_of(unsigned rounds, std::size_t count, Score score) {
  std::vector<double> samples;
  for (unsigned round = 0; round < rounds; ++round)
    samples.push_back(static_cast<double>(count) / (1e6 * seconds([&] {
                                                      for (std::size_t at = 0; at < count;) at += score(at);
                                                    })));
  return bench::figure_of(samples).median;
}

// A few bursts, which stay in cache, as those of a worker do.
std::vector<std::vector<learn::FeatureRow>> bursts_of(const learn::Samples &samples) {
  std::vector<std::vector<learn::FeatureRow>> bursts;
  for (std::size_t i = 0; i < std::min<std::size_t>(samples.count(), 4 * learn::burst_samples); ++i) {
    if (i % learn::burst_samples == 0) bursts.emplace_back(samples.features);
    for (unsigned f = 0; f < samples.features; ++f)
      bursts.back()[f].of[i % learn::burst_samples] = samples.sample(i)[f];
  }
  return bursts;
}

} // namespace

Result<std::vector<Classifier>> compare_classifiers(const learn::Samples &training,
                                                    const learn::Samples &members,
                                                    const learn::Samples &asked, const ComparisonTask &task) {
  std::vector<Classifier> out;
  {
    std::optional<Result<learn::BoostedTrees>> boosted;
    const double took = seconds([&] { boosted.emplace(learn::BoostedTrees::train(training, task.trees)); });
    if (!*boosted) return std::unexpected((*boosted).error());
    const learn::Trees trees = TRY((*boosted)->flatten());
    const auto bursts = bursts_of(asked);
    const double mops = mops_of(
        task.rounds, asked.count() / learn::burst_samples * learn::burst_samples, [&](std::size_t at) {
          learn::Margins margins;
          trees.view().score(bursts[at / learn::burst_samples % bursts.size()], margins);
          scored_last = margins[0];
          return std::size_t{learn::burst_samples};
        });
    out.push_back({"trees", trees.bits(),
                   auc_of(learn::margins_of(trees.view(), members), learn::margins_of(trees.view(), asked)),
                   took, mops});
  }
  for (const LinearLoss loss : {LinearLoss::logistic, LinearLoss::hinge}) {
    LinearModel model;
    const double took = seconds([&] { model = train_linear(training, loss, task.seed); });
    const double mops = mops_of(task.rounds, asked.count(), [&](std::size_t) {
      scored_last = model.scores(asked)[0];
      return asked.count();
    });
    out.push_back({loss == LinearLoss::logistic ? "logistic_regression" : "linear_svm", model.bits(),
                   auc_of(model.scores(members), model.scores(asked)), took, mops});
  }
  return out;
}

Result<ClassifiersReport> run_classifiers(const ClassifiersTask &task) {
  const LearnableSet set = make_learnable(task.keys);
  return ClassifiersReport{.task = task,
                           .auc_possible = auc_of(set.unseen_members.best, set.unseen_others.best),
                           .classifiers = TRY(compare_classifiers(
                               training_of(set, set.members.count(), set.others.count()),
                               set.unseen_members.samples, set.unseen_others.samples, task.comparison))};
}

nlohmann::ordered_json rows_of(const std::vector<Classifier> &classifiers) {
  nlohmann::ordered_json rows;
  for (const Classifier &c : classifiers)
    rows.push_back({{"name", c.name},
                    {"auc", c.auc},
                    {"bits", c.bits},
                    {"training_seconds", c.training_seconds},
                    {"mops", c.mops}});
  return rows;
}

std::string json_of(const ClassifiersReport &report) {
  const LearnableTask &keys = report.task.keys;
  nlohmann::ordered_json json;
  json["data"] = name_of(keys.kind);
  json["seed"] = keys.seed;
  json["members"] = keys.members;
  json["others"] = keys.others;
  json["unseen"] = keys.unseen;
  json["auc_asked"] = keys.auc;
  json["auc_possible"] = report.auc_possible;
  json["classifiers"] = rows_of(report.classifiers);
  return json.dump(2);
}

} // namespace weir::lab
