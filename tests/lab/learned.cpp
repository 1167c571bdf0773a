#include "tests/lab/learned.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/learned_model.hpp"
#include "tests/support/standings.hpp"
#include "weir/build/chained_and_builder.hpp"
#include "weir/filter/bloom.hpp"

#include <algorithm>
#include <limits>

namespace weir::lab {
namespace {

constexpr float never = std::numeric_limits<float>::infinity(); // the threshold of no trees

// Margins of all keys under some of the trees.
struct Margins {
  std::vector<float> members, others, unseen;

  Margins(const learn::TreesView &trees, const LearnableSet &set)
      : members(learn::margins_of(trees, set.members.samples)),
        others(learn::margins_of(trees, set.others.samples)),
        unseen(learn::margins_of(trees, set.unseen_others.samples)) {}
  explicit Margins(const LearnableSet &set)
      : members(set.members.count()), others(set.others.count()), unseen(set.unseen_others.count()) {}
};

template <class Backup>
std::uint64_t accepted(const std::optional<Backup> &backup, std::span<const KeyHash> keys) {
  return backup ? static_cast<std::uint64_t>(
                      std::ranges::count_if(keys, [&](KeyHash key) { return backup->contains(key); }))
                : 0;
}

// A filter of a name, behind trees with these margins and this threshold. `build(members, others)` makes the backup.
template <class Build>
Result<LearnedFilter> behind(const char *name, const LearnableSet &set, const Margins &margins,
                             float threshold, Build build) {
  const Sorted members = sort_by(set.members.keys, margins.members, threshold),
               others = sort_by(set.others.keys, margins.others, threshold),
               unseen = sort_by(set.unseen_others.keys, margins.unseen, threshold);
  LearnedFilter out{.name = name};
  out.backup_members = members.left.size();
  using Backup = typename decltype(build(members.left, others.left))::value_type;
  std::optional<Backup> backup; // nobody left: it would say no always
  if (!members.left.empty()) {
    backup.emplace(TRY(build(members.left, others.left)));
    out.backup_bits = backup->bits();
  }
  const auto share = [&](const Sorted &keys) {
    const auto wrong = static_cast<double>(keys.accepted.size() + accepted(backup, keys.left));
    return wrong / static_cast<double>(keys.accepted.size() + keys.left.size());
  };
  out.missed = members.left.size() - accepted(backup, members.left);
  out.error = share(others);
  out.unseen_error = share(unseen);
  return out;
}

using Keys = std::span<const KeyHash>;

Result<filter::Bloom> bloom_of(Keys members, double rate) {
  const auto shape = filter::Bloom::shape_for_rate(static_cast<double>(members.size()), rate);
  if (!shape) return fail(Errc::usage, "no Bloom filter has this rate");
  auto bloom = TRY(filter::Bloom::make(*shape, 1));
  for (const KeyHash key : members) bloom.insert(key);
  return bloom;
}

// `trees`: null for none of them.
Result<std::vector<LearnedFilter>> three_filters(const LearnedTask &task, const LearnableSet &set,
                                                 const learn::Trees *trees) {
  const Margins margins = trees != nullptr ? Margins(trees->view(), set) : Margins(set);
  const auto others = static_cast<double>(set.others.count());
  const auto threshold = [&](double error) {
    return trees != nullptr ? threshold_for(margins.others, static_cast<std::size_t>(error * others)) : never;
  };
  const double half = trees != nullptr ? task.error / 2 : task.error; // without trees there is one error
  const std::uint64_t seed = task.keys.seed;
  std::vector<LearnedFilter> out;
  out.push_back(TRY(behind("bloom", set, margins, threshold(task.error / 2),
                           [&](Keys members, Keys) { return bloom_of(members, half); })));
  out.push_back(TRY(behind("bloomier", set, margins, threshold(task.error), [&](Keys members, Keys left) {
    return build::exact_bloomier<4>(members, left, 1, seed);
  })));
  out.push_back(TRY(behind("chained", set, margins, threshold(task.error), [&](Keys members, Keys left) {
    return build::ChainedAnd<4>::build(members, left, 1, seed);
  })));
  for (LearnedFilter &filter : out) {
    filter.trees = trees != nullptr ? trees->view().trees() : 0;
    filter.model_bits = trees != nullptr ? trees->bits() : 0;
  }
  return out;
}

// Prefixes of the trees that are tried: powers of two, three quarters of them, and all.
std::vector<unsigned> prefixes(unsigned most) {
  std::vector<unsigned> out;
  for (unsigned at = 2; at < most; at *= 2)
    for (const unsigned trees : {at, at + at / 2})
      if (trees < most) out.push_back(trees);
  out.push_back(most);
  return out;
}

Result<LearnedRow> row_of(const LearnedTask &task, const LearnableSet &set, double share) {
  LearnedRow row{.share = share,
                 .training_seconds = 0,
                 .auc_trained = 0.5,
                 .auc_unseen = 0.5,
                 .uncounted = {},
                 .counted = {}};
  row.counted = TRY(three_filters(task, set, nullptr));
  const auto part = [share](std::size_t count) {
    return static_cast<std::size_t>(share * static_cast<double>(count));
  };
  const std::size_t members = part(set.members.count()), others = part(set.others.count());
  if (members == 0 || others == 0) {
    row.uncounted = row.counted;
    return row;
  }
  const learn::Samples training = training_of(set, members, others);
  std::optional<Result<learn::BoostedTrees>> boosted;
  row.training_seconds = seconds([&] { boosted.emplace(learn::BoostedTrees::train(training, task.trees)); });
  if (!*boosted) return std::unexpected((*boosted).error());
  for (const unsigned count : prefixes(task.trees.trees)) {
    const learn::Trees trees = TRY((*boosted)->flatten(count));
    row.uncounted = TRY(three_filters(task, set, &trees));
    for (std::size_t i = 0; i < row.counted.size(); ++i)
      if (row.uncounted[i].bits() < row.counted[i].bits()) row.counted[i] = row.uncounted[i];
    if (count != task.trees.trees) continue;
    const auto scores = [&](const LearnableKeys &keys, std::size_t first) {
      std::vector<float> all = learn::margins_of(trees.view(), keys.samples);
      all.resize(first);
      return all;
    };
    row.auc_trained = auc_of(scores(set.members, members), scores(set.others, others));
    row.auc_unseen = auc_of(scores(set.unseen_members, set.unseen_members.count()),
                            scores(set.unseen_others, set.unseen_others.count()));
  }
  return row;
}

} // namespace

Result<LearnedReport> run_learned(const LearnedTask &task) {
  const LearnableSet set = make_learnable(task.keys);
  LearnedReport report{.task = task,
                       .auc_possible = auc_of(set.unseen_members.best, set.unseen_others.best),
                       .rows = {},
                       .classifiers = {}};
  const auto members = static_cast<double>(set.members.count());
  report.lower_bound_bits =
      members * build::membership_bound(task.error, static_cast<double>(set.others.count()) / members);
  report.plain_bloom_bits = TRY(bloom_of(set.members.keys, task.error)).bits();
  report.plain_chained_bits =
      TRY(build::ChainedAnd<4>::build(set.members.keys, set.others.keys, 1, task.keys.seed)).bits();
  for (const double share : task.shares) report.rows.push_back(TRY(row_of(task, set, share)));
  if (task.classifiers)
    report.classifiers = TRY(compare_classifiers(
        training_of(set, set.members.count() / 2, set.others.count() / 2), set.unseen_members.samples,
        set.unseen_others.samples, {.trees = task.trees, .rounds = task.rounds, .seed = task.keys.seed}));
  return report;
}

} // namespace weir::lab
