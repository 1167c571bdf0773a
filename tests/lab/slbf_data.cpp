#include "tests/lab/slbf_data.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/learned_model.hpp"
#include "weir/image/offenders.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>
#include <optional>
#include <utility>

namespace weir::lab {
namespace {

// x with Phi(x) = p, by bisection.
double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < p ? low : high) = middle;
  }
  return low;
}

class Scores {
public:
  explicit Scores(const StreamTask &task)
      : spread_(std::numbers::sqrt2 * normal_quantile(task.auc)), seed_(remix({task.seed}, 0x51BF)) {}

  [[nodiscard]] KeyHash key(std::uint64_t number, std::uint64_t kind) const {
    return {remix({number << 3 | kind}, seed_)};
  }
  // Of the key itself, as scores have to be.
  [[nodiscard]] float score(KeyHash key, bool told) const {
    const auto uniform = [&](std::uint64_t view) {
      return (static_cast<double>(remix(key, view) >> 11) + 0.5) * 0x1.0p-53;
    };
    const double normal =
        std::sqrt(-2 * std::log(uniform(0xA11))) * std::cos(2 * std::numbers::pi * uniform(0xB22));
    const double odds = spread_ * normal + (told ? 0.5 : -0.5) * spread_ * spread_;
    return static_cast<float>(1 / (1 + std::exp(-odds)));
  }
  [[nodiscard]] ScoredKeysOf keys(std::uint64_t count, std::uint64_t kind, bool told) const {
    ScoredKeysOf out;
    for (std::uint64_t i = 0; i < count; ++i) {
      out.keys.push_back(key(i, kind));
      out.scores.push_back(score(out.keys.back(), told));
    }
    return out;
  }

private:
  double spread_;
  std::uint64_t seed_;
};

Result<ScoredStream> read_stream(const StreamTask &task) {
  std::ifstream file(task.data);
  if (!file) return fail(Errc::io, task.data + ": cannot be read");
  ScoredStream stream;
  int label = 0;
  float score = 0;
  std::uint64_t line = 0;
  for (; file >> label >> score; ++line) {
    if ((label != 0 && label != 1) || !(score >= 0 && score <= 1))
      return fail(Errc::parse, task.data + ": line " + std::to_string(line + 1) +
                                   ": a label 0 or 1 and a score between 0 and 1 are wanted");
    if (line % 5 == 0) {
      (label == 1 ? stream.sample_told : stream.sample_others).push_back(score);
      continue;
    }
    ScoredKeysOf &side = label == 1 ? stream.told : stream.others;
    side.keys.push_back({remix({line}, task.seed)});
    side.scores.push_back(score);
  }
  if (!file.eof())
    return fail(Errc::parse, task.data + ": line " + std::to_string(line + 1) + ": no label and score");
  if (stream.told.keys.empty() || stream.others.keys.empty() || stream.sample_told.empty() ||
      stream.sample_others.empty())
    return fail(Errc::parse, task.data + ": lines of both labels are wanted, five and more");
  return stream;
}

std::optional<LearnableKind> kind_of(std::string_view data) {
  for (const auto kind : {LearnableKind::urls, LearnableKind::addresses, LearnableKind::traffic})
    if (data == name_of(kind)) return kind;
  return {};
}

constexpr std::uint64_t trained_with = 50'000; // of either side

// The first `samples` keys, then those of the stream.
void take_scored(const std::vector<float> &margins, const LearnableKeys &keys, std::uint64_t samples,
                 ScoredKeysOf &stream, std::vector<float> &sample) {
  for (std::size_t i = 0; i < keys.count(); ++i) {
    const float score = 1 / (1 + std::exp(-margins[i]));
    if (i < samples) {
      sample.push_back(score);
      continue;
    }
    stream.keys.push_back(keys.keys[i]);
    stream.scores.push_back(score);
  }
}

Result<ScoredStream> trained_stream(const StreamTask &task) {
  const LearnableSet set = make_learnable({.kind = *kind_of(task.data),
                                           .auc = task.auc,
                                           .members = trained_with,
                                           .others = trained_with,
                                           .unseen = task.samples + std::max(task.insertions, task.others),
                                           .seed = task.seed});
  const auto boosted = TRY(learn::BoostedTrees::train(training_of(set, trained_with, trained_with),
                                                      {.trees = task.trees, .seed = task.seed}));
  const learn::Trees trees = TRY(boosted.flatten());
  ScoredStream stream;
  // Of margins alone, which filters are cut at: who serves packets needs no probability.
  const double start = cpu_ns();
  const auto told = learn::margins_of(trees.view(), set.unseen_members.samples),
             others = learn::margins_of(trees.view(), set.unseen_others.samples);
  stream.model_mops = static_cast<double>(told.size() + others.size()) / (cpu_ns() - start) * 1e3;
  take_scored(told, set.unseen_members, task.samples, stream.told, stream.sample_told);
  take_scored(others, set.unseen_others, task.samples, stream.others, stream.sample_others);
  stream.model_bits = trees.bits();
  return stream;
}

// Trees are trained with the elements of a third of the sources, p and q are estimated from another third, the last is the stream.
Result<ScoredStream> captured_stream(const StreamTask &task) {
  const CapturedElements captured = TRY(read_captured(task.data, task.labels, task.seed));
  std::array<std::array<learn::Samples, 2>, 3> parts; // by part and side
  std::array<std::vector<KeyHash>, 2> keys;           // of the stream
  for (auto &part : parts)
    for (learn::Samples &side : part) side.features = image::offender_features(OffenderElement::header);
  for (const CapturedElement &element : captured.elements) {
    const std::size_t part = remix({XXH3_64bits(element.address.bytes.data(), 16)}, task.seed ^ 0x7A1) % 3;
    learn::Samples &side = parts[part][element.told ? 1 : 0];
    const auto features = image::offender_features_of(element.address, element.traits, 0);
    side.bytes.insert(side.bytes.end(), features.begin(), features.end());
    side.labels.push_back(element.told ? 1 : 0);
    if (part == 2) keys[element.told ? 1 : 0].push_back(element.key);
  }
  for (const auto &part : parts)
    for (const learn::Samples &side : part)
      if (side.count() < 20)
        return fail(
            Errc::parse,
            task.data + ": " + std::to_string(captured.elements.size()) +
                " elements (sources with traits) of labelled sources do not leave 20 of either label for "
                "each of training, estimates and stream; record more traffic of either label");
  learn::Samples &training = parts[0][1];
  training.bytes.insert(training.bytes.end(), parts[0][0].bytes.begin(), parts[0][0].bytes.end());
  training.labels.insert(training.labels.end(), parts[0][0].labels.begin(), parts[0][0].labels.end());
  const auto boosted = TRY(learn::BoostedTrees::train(
      training, {.trees = task.trees, .step = 0.2, .min_weight = 4, .seed = task.seed}));
  const learn::Trees trees = TRY(boosted.flatten());
  ScoredStream stream;
  stream.model_bits = trees.bits();
  stream.capture = captured.counts;
  const auto scores = [&](const learn::Samples &samples) {
    std::vector<float> out;
    for (const float margin : learn::margins_of(trees.view(), samples))
      out.push_back(1 / (1 + std::exp(-margin)));
    return out;
  };
  stream.sample_told = scores(parts[1][1]);
  stream.sample_others = scores(parts[1][0]);
  const double start = cpu_ns();
  stream.told = {.keys = keys[1], .scores = scores(parts[2][1])};
  stream.others = {.keys = keys[0], .scores = scores(parts[2][0])};
  stream.model_mops = static_cast<double>(keys[0].size() + keys[1].size()) / (cpu_ns() - start) * 1e3;
  return stream;
}

void flip(ScoredStream &stream, double share, std::uint64_t seed) {
  for (std::size_t i = 0; i < std::min(stream.told.keys.size(), stream.others.keys.size()); ++i)
    if (static_cast<double>(remix({i}, seed ^ 0xF11B)) * 0x1p-64 < share) {
      std::swap(stream.told.keys[i], stream.others.keys[i]);
      std::swap(stream.told.scores[i], stream.others.scores[i]);
    }
}

} // namespace

Result<ScoredStream> make_stream(const StreamTask &task) {
  ScoredStream stream;
  if (!task.labels.empty()) {
    stream = TRY(captured_stream(task));
  } else if (kind_of(task.data)) {
    stream = TRY(trained_stream(task));
  } else if (task.data != "synthetic") {
    stream = TRY(read_stream(task));
  } else {
    const Scores scores(task);
    stream.told = scores.keys(task.insertions, 0, true);
    stream.others = scores.keys(task.others, 1, false);
    stream.sample_told = scores.keys(task.samples, 2, true).scores;
    stream.sample_others = scores.keys(task.samples, 3, false).scores;
  }
  flip(stream, task.flipped, task.seed);
  stream.auc = auc_of(stream.sample_told, stream.sample_others);
  return stream;
}

} // namespace weir::lab
