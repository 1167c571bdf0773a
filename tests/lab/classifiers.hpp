// Boosted trees, logistic regression and a linear support vector machine beside one another [SLBF §5.1, Table 3].
#pragma once

#include "tests/lab/learnable.hpp"
#include "weir/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct Classifier {
  std::string name;
  std::uint64_t bits = 0;
  double auc = 0, training_seconds = 0, mops = 0; // mops: million predictions a second of ready features
};

[[nodiscard]] nlohmann::ordered_json rows_of(const std::vector<Classifier> &classifiers);

struct ComparisonTask {
  learn::TreesTask trees{.trees = 200, .depth = 4};
  unsigned rounds = 5; // of timing
  std::uint64_t seed = 1;
};

// Trained with one set, asked about members and others of another. Errors: those of training.
[[nodiscard]] Result<std::vector<Classifier>> compare_classifiers(const learn::Samples &training,
                                                                  const learn::Samples &members,
                                                                  const learn::Samples &others,
                                                                  const ComparisonTask &task);

struct ClassifiersTask {
  LearnableTask keys{.kind = LearnableKind::traffic, .auc = 0.91, .members = 50'000, .others = 50'000};
  ComparisonTask comparison;
};
struct ClassifiersReport {
  ClassifiersTask task;
  double auc_possible = 0; // on unseen keys, of who knows the law
  std::vector<Classifier> classifiers;
};
[[nodiscard]] Result<ClassifiersReport> run_classifiers(const ClassifiersTask &task);
[[nodiscard]] std::string json_of(const ClassifiersReport &report);

} // namespace weir::lab
