#include "tests/lab/lsm_filters.hpp"

#include "control/plan/stacked_size.hpp"
#include "weir/build/chained_and_builder.hpp"
#include "weir/build/chained_dynamic.hpp"
#include "weir/build/stacked_builder.hpp"

#include <chrono>

namespace weir::lab {
namespace {

template <class Filter> class Owned final : public RunFilter {
public:
  explicit Owned(Filter filter) : filter_(std::move(filter)) {}
  [[nodiscard]] bool contains(KeyHash key) const override { return filter_.contains(key); }
  [[nodiscard]] Filter &get() noexcept { return filter_; }

private:
  Filter filter_;
};

template <class Filter> void add(LsmFilters &to, Filter filter) {
  to.of_run.push_back(std::make_unique<Owned<Filter>>(std::move(filter)));
}

using Run = LsmData::Run;

Result<LsmFilters> blooms(const LsmData &data, double bits) {
  LsmFilters out;
  for (const Run &run : data.runs()) {
    const auto n = static_cast<double>(run.hashes.size());
    const auto shape = filter::Bloom::shape_for(n, static_cast<std::uint64_t>(bits * n));
    if (!shape) return fail(Errc::usage, "a Bloom filter has no word of bits, ask for more bits");
    auto filter = TRY(filter::Bloom::make(*shape, 1));
    for (const KeyHash key : run.hashes) filter.insert(key);
    out.bits += filter.bits();
    add(out, std::move(filter));
  }
  return out;
}

// [Chained §5.4]: when a run is written, those of its keys that the first stage of an earlier run accepts are excluded there,
// unless that run has them too. What the second stage rejects by chance is excluded as well: the next change might accept it.
Result<LsmFilters> chained(const LsmData &data, const LsmTask &task) {
  using Chain = build::ChainedDynamic<>;
  LsmFilters out;
  out.oldest_first = out.one_in_vain = true;
  std::vector<Chain> filters;
  std::vector<KeyHash> not_there;
  for (unsigned r = 0; r < task.runs; ++r) {
    const Run &run = data.runs()[r];
    const double later = task.runs - 1 - r; // runs to come, of about as many keys
    auto filter = TRY(Chain::sized(static_cast<double>(run.hashes.size()), later,
                                   task.delta_share * build::chained_first_rate(later), 1));
    TRY(filter.insert(run.hashes));
    for (unsigned earlier = 0; earlier < r; ++earlier) {
      not_there.clear();
      for (std::size_t at = 0; at < run.hashes.size(); at += filter::batch_max) {
        const auto batch =
            std::span(run.hashes).subspan(at, std::min(filter::batch_max, run.hashes.size() - at));
        for (filter::HitMask hits = filters[earlier].first().contains_batch(batch); hits != 0;
             hits &= hits - 1) {
          const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(hits));
          if (task.repeats == 0 || !data.holds(earlier, run.numbers[i])) not_there.push_back(run.hashes[i]);
        }
      }
      out.excluded += not_there.size();
      TRY(filters[earlier].exclude(not_there));
    }
    filters.push_back(std::move(filter));
  }
  for (Chain &filter : filters) {
    out.bits += filter.bits();
    out.record_bytes += filter.second().record_bytes();
    add(out, std::move(filter));
  }
  return out;
}

// ChainedFilter with as long a first stage as `bits` allow.
struct StaticChain {
  build::BinaryFuse4 first;
  build::Retrieval<4> second;
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return first.contains(key) && second.contains(key);
  }
};

Result<LsmFilters> chained_static(const LsmData &data, const LsmTask &task, double bits) {
  LsmFilters out;
  out.one_in_vain = true;
  std::vector<KeyHash> left; // keys of earlier runs that the first stage accepts
  for (unsigned r = 0; r < task.runs; ++r) {
    const Run &run = data.runs()[r];
    const auto n = static_cast<double>(run.hashes.size());
    const auto shape_of = [n](unsigned f) { return build::BinaryFuse4::Shape::for_keys(n, f); };
    unsigned first_bits = 1;
    for (unsigned f = 1; f <= build::BinaryFuse4::fingerprint_bits_max; ++f) {
      const double slots = static_cast<double>(shape_of(f)->slots()) / n;
      const double most = slots * (f + 1 + r * std::exp2(-static_cast<double>(f)));
      if (most <= bits) first_bits = f;
    }
    auto first = TRY(build::BinaryFuse4::build(run.hashes, *shape_of(first_bits), 1, task.seed));
    left.clear();
    for (unsigned earlier = 0; earlier < r; ++earlier) {
      const Run &other = data.runs()[earlier];
      for (std::size_t at = 0; at < other.hashes.size(); at += filter::batch_max) {
        const auto batch =
            std::span(other.hashes).subspan(at, std::min(filter::batch_max, other.hashes.size() - at));
        for (filter::HitMask hits = first.contains_batch(batch); hits != 0; hits &= hits - 1) {
          const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(hits));
          if (task.repeats == 0 || !data.holds(r, other.numbers[i])) left.push_back(other.hashes[i]);
        }
      }
    }
    auto second = TRY(build::exact_bloomier<4>(run.hashes, left, 2, task.seed));
    out.bits += first.bits() + second.bits();
    out.excluded += left.size();
    add(out, StaticChain{std::move(first), std::move(second)});
  }
  return out;
}

// [Stacked-early §6.2]: the tree knows how often keys are asked for.
Result<LsmFilters> stacked(const LsmData &data, const LsmTask &task, double bits) {
  LsmFilters out;
  std::optional<plan::StackPlan> planned;
  double planned_keys = 0;
  for (unsigned r = 0; r < task.runs; ++r) {
    const Run &run = data.runs()[r];
    const auto n = static_cast<double>(run.hashes.size());
    if (!planned || std::abs(n - planned_keys) > 0.001 * n) { // runs are of one size
      plan::StackTask wanted;
      wanted.positives = planned_keys = n;
      wanted.negatives = plan::CostCurve::zipf(task.hot, task.skew);
      wanted.bits_total = bits * n;
      wanted.depth_max = 5;
      wanted.known_max = static_cast<double>(task.hot);
      wanted.seed = task.seed;
      planned = TRY(plan::size_stack(wanted));
    }
    std::vector<KeyHash> known;
    for (const LsmData::Hot &hot : data.hot()) {
      if (static_cast<double>(known.size()) >= planned->known) break;
      if (!data.holds(r, hot.number)) known.push_back(hot.hash);
    }
    auto built = TRY((build::build_stack<filter::Bloom>(static_cast<unsigned>(planned->layers.size()),
                                                        build::PlannedShapes(planned->layers), run.hashes,
                                                        known, task.seed)));
    out.bits += built.stack.bits();
    add(out, std::move(built.stack));
  }
  return out;
}

} // namespace

Result<LsmFilters> build_lsm_filters(std::string_view arm, const LsmData &data, const LsmTask &task,
                                     double bits) {
  const auto start = std::chrono::steady_clock::now();
  auto built = arm == "bloom"            ? blooms(data, bits)
               : arm == "bloom_2x"       ? blooms(data, 2 * bits)
               : arm == "chained"        ? chained(data, task)
               : arm == "chained_static" ? chained_static(data, task, bits)
               : arm == "stacked"        ? stacked(data, task, bits)
                                         : Result<LsmFilters>(LsmFilters());
  if (built)
    built->build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return built;
}

} // namespace weir::lab
