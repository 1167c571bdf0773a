#include "tests/lab/performance.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/performance_plan.hpp"
#include "tests/lab/register_blocked_bloom.hpp"
#include "tests/lab/stacked_workload.hpp"
#include "tests/support/standings.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <bit>
#include <functional>
#include <memory>

namespace weir::lab {
namespace {

constexpr std::size_t questions = 1 << 17;     // of each kind, in a round
constexpr std::size_t rated_max = 1 << 22;     // known negatives that rates are measured with
constexpr std::uint64_t no_bound = 1ull << 50; // bits of layers that have to be built larger
constexpr unsigned replans_max = 3;

using Keys = std::span<const KeyHash>;
using Asked = std::function<std::uint64_t(Keys)>; // how many of them it accepts

// A filter that was built, and how to ask it.
struct Built {
  PerformanceCandidate figures;
  Asked accepted;
};

// What all filters of one number of keys are built from and asked for.
struct Setting {
  PerformanceTask task;
  Universe universe;
  std::vector<KeyHash> negative_questions, present_questions;

  [[nodiscard]] double keys() const noexcept { return static_cast<double>(universe.positives.size()); }
  [[nodiscard]] double known_per_key() const noexcept {
    return static_cast<double>(universe.negatives.size()) / keys();
  }
};

Universe universe_of(const PerformanceTask &task, std::uint64_t keys) {
  StackedTask wanted;
  wanted.positives = keys;
  wanted.negatives =
      static_cast<std::uint64_t>(std::lround(static_cast<double>(keys) * (1 - task.beta) / task.beta));
  wanted.psi = task.psi;
  wanted.seed = task.seed;
  return Universe(wanted);
}

Setting setting_of(const PerformanceTask &task, std::uint64_t keys) {
  Setting setting{task, universe_of(task, keys), {}, {}};
  const Universe &universe = setting.universe;
  std::mt19937_64 random(task.seed);
  std::uniform_real_distribution<double> share(0, 1);
  const auto any_of = [&random](const std::vector<KeyHash> &of) { return of[random() % of.size()]; };
  for (std::size_t i = 0; i < questions; ++i) {
    setting.negative_questions.push_back(
        any_of(share(random) < task.psi ? universe.negatives : universe.unseen));
    setting.present_questions.push_back(any_of(universe.positives));
  }
  return setting;
}

// ---- building ----------------------------------------------------------------------------------------

template <class Filter> Asked asking(Filter filter) {
  return [of = std::make_shared<Filter>(std::move(filter))](Keys keys) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < keys.size(); at += filter::batch_max) {
      const Keys batch = keys.subspan(at, std::min(filter::batch_max, keys.size() - at));
      count += static_cast<std::uint64_t>(std::popcount(of->contains_batch(batch)));
    }
    return count;
  };
}

double share_accepted(const Built &built, Keys keys) {
  return static_cast<double>(built.accepted(keys)) / static_cast<double>(keys.size());
}

Status rate(Built &built, const Setting &setting) {
  const Universe &of = setting.universe;
  if (built.accepted(of.positives) != of.positives.size())
    return fail(Errc::io, "a filter misses keys that are present");
  const Keys known = Keys(of.negatives).first(std::min(rated_max, of.negatives.size()));
  built.figures.efpr_measured =
      of.psi() * share_accepted(built, known) + (1 - of.psi()) * share_accepted(built, of.unseen);
  return {};
}

template <class Base>
Status add_plain(const char *name, const typename Base::Shape &shape, double bits, const Setting &setting,
                 std::vector<Built> &all) {
  auto made =
      TRY(build::build_layer<Base>(shape, 1, setting.universe.positives, setting.task.seed, no_bound));
  Built built;
  built.figures = {name, false, static_cast<double>(made.bits()) / setting.keys(), {bits}};
  built.figures.efpr_predicted = Base::rate(made.shape(), setting.keys());
  built.accepted = asking(std::move(made));
  all.push_back(std::move(built));
  return rate(all.back(), setting);
}

// Small layers are rounded up, and what they then let through fills the next ones: where that takes more bits than
// there are, the stack is planned again with less.
template <class Base>
Result<build::BuiltStack<Base>> build_within(const std::vector<build::LayerSize> &choices, double bits,
                                             const Setting &setting, ThreeLayers &layers) {
  double planned = bits;
  for (unsigned attempt = 0;; ++attempt) {
    auto made = TRY(build::build_stack<Base>(3, build::PlannedShapes(layers).within(no_bound),
                                             setting.universe.positives, setting.universe.negatives,
                                             setting.task.seed));
    const double excess = static_cast<double>(made.stack.bits()) / setting.keys() - bits;
    if (excess <= bits / 100 || attempt == replans_max) return made;
    planned -= excess;
    const auto smaller = least_errors(choices, setting.task.psi, setting.known_per_key(), planned);
    if (!smaller) return made;
    layers = *smaller;
  }
}

// Errors: those of building. Nothing is added where the stack would not have a lower rate than the plain filter.
template <class Base>
Status add_stack(const char *name, double bits, double plain_rate, const Setting &setting,
                 std::vector<Built> &all) {
  const std::vector<build::LayerSize> choices = layer_choices<Base>();
  const double psi = setting.task.psi;
  auto layers = least_errors(choices, psi, setting.known_per_key(), bits);
  if (!layers || build::stacked_efpr(rates_of(*layers), psi) >= plain_rate) return {};
  auto made = TRY(build_within<Base>(choices, bits, setting, *layers));
  Built built;
  built.figures = {name, true, static_cast<double>(made.stack.bits()) / setting.keys(), {}};
  for (const build::LayerSize &layer : *layers) built.figures.layer_bits.push_back(layer.bits);
  built.figures.efpr_predicted = build::stacked_efpr(rates_of(*layers), psi);
  built.accepted = asking(std::move(made.stack));
  all.push_back(std::move(built));
  return rate(all.back(), setting);
}

// Both of each size.
template <class Base> Status add_base(const char *name, const Setting &setting, std::vector<Built> &all) {
  for (unsigned bits = 4; bits <= 20; bits += 2) {
    const std::optional<typename Base::Shape> shape =
        Base::shape_for(setting.keys(), static_cast<std::uint64_t>(bits * setting.keys()));
    if (shape) TRY(add_plain<Base>(name, *shape, bits, setting, all));
    TRY(add_stack<Base>(name, bits, shape ? Base::rate(*shape, setting.keys()) : 1, setting, all));
  }
  return {};
}

// ---- times -------------------------------------------------------------------------------------------

volatile std::uint64_t answers; // keeps the questions from being left out

double ns_for_one(const Built &built, Keys keys) {
  const double start = cpu_ns();
  answers = built.accepted(keys);
  return (cpu_ns() - start) / static_cast<double>(keys.size());
}

// All take turns; each is asked once without a clock before, since the others emptied the caches.
void time_all(std::vector<Built> &all, const Setting &setting) {
  std::vector<std::vector<double>> negative(all.size()), present(all.size());
  for (unsigned round = 0; round < setting.task.rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      answers = all[i].accepted(setting.negative_questions);
      negative[i].push_back(ns_for_one(all[i], setting.negative_questions));
      present[i].push_back(ns_for_one(all[i], setting.present_questions));
    }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].figures.ns_negative = bench::figure_of(negative[i]).median;
    all[i].figures.ns_present = bench::figure_of(present[i]).median;
  }
}

// ---- the map -----------------------------------------------------------------------------------------

PerformanceReport::Best best_of(const std::vector<PerformanceCandidate> &candidates, double work_ns) {
  const auto least = [&](bool stacks) {
    std::size_t best = 0; // a plain filter
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if ((stacks || !candidates[i].stacked) && candidates[i].rho(work_ns) < candidates[best].rho(work_ns))
        best = i;
    return best;
  };
  return {work_ns, least(true), least(false)};
}

Result<PerformanceReport::Size> run_size(const PerformanceTask &task, std::uint64_t keys) {
  const Setting setting = setting_of(task, keys);
  std::vector<Built> all;
  TRY(add_base<RegisterBlockedBloom>("register_blocked", setting, all));
  TRY(add_base<filter::SplitBlockFilter>("split_block", setting, all));
  TRY(add_base<filter::Bloom>("bloom", setting, all));
  TRY(add_base<filter::CuckooFilter>("cuckoo", setting, all));
  time_all(all, setting);
  PerformanceReport::Size size{keys, setting.universe.negatives.size(), {}, {}};
  for (Built &built : all) size.candidates.push_back(std::move(built.figures));
  for (double work_ns = 4; work_ns < 2e6; work_ns *= 4)
    size.best.push_back(best_of(size.candidates, work_ns));
  return size;
}

} // namespace

Result<PerformanceReport> run_performance(const PerformanceTask &task) {
  PerformanceReport report{task, {}};
  for (std::uint64_t keys = performance_keys_least; keys <= task.keys_max; keys *= 4)
    report.sizes.push_back(TRY(run_size(task, keys)));
  return report;
}

} // namespace weir::lab
