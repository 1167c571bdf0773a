#include "tests/lab/membership.hpp"

#include "tests/lab/clock.hpp"
#include "tests/lab/keys.hpp"
#include "tests/lab/peak_memory.hpp"
#include "weir/build/chained_and_builder.hpp"
#include "weir/build/chained_and_not_builder.hpp"
#include "weir/build/chained_general_builder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>

namespace weir::lab {
namespace {

using Keys = std::span<const KeyHash>;

struct MembershipUniverse {
  std::vector<KeyHash> positives, negatives;

  MembershipUniverse(std::uint64_t n, double lambda, std::uint64_t seed)
      : positives(make_keys(KeySet::ycsb, Side::positive, n, seed)),
        negatives(make_keys(KeySet::ycsb, Side::negative,
                            static_cast<std::uint64_t>(std::llround(lambda * static_cast<double>(n))),
                            seed)) {}
  [[nodiscard]] std::size_t keys() const noexcept { return positives.size() + negatives.size(); }
};

template <class Filter> std::uint64_t accepted(const Filter &filter, Keys keys) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(keys, [&](KeyHash key) { return filter.contains(key); }));
}

Status build_point(const MembershipTask &task, MembershipPoint &point) {
  const MembershipUniverse universe(task.positives, point.lambda, task.seed);
  const auto share_of = [&](const auto &filter) {
    return static_cast<double>(accepted(filter, universe.negatives)) /
           static_cast<double>(universe.negatives.size());
  };
  const auto build = [&](build::UnseenCoin coin) {
    return build::ChainedGeneral<4>::build(universe.positives, universe.negatives, point.rate, coin, 1,
                                           task.seed);
  };
  const auto filter = TRY(build(build::UnseenCoin::fair));
  point.built = static_cast<double>(filter.bits()) / static_cast<double>(task.positives);
  point.accepted = share_of(filter);
  point.accepted_plain = share_of(TRY(build(build::UnseenCoin::always)));
  return {};
}

Result<std::vector<MembershipPoint>> points_of(const MembershipTask &task) {
  using std::numbers::ln2;
  constexpr std::array built_at{2.0, 4.0, 8.0, 16.0, 32.0};
  std::vector<MembershipPoint> points;
  for (const double rate : task.rates)
    for (double step = 0; step <= 24; ++step) {
      const double lambda = std::exp2(step / 4);
      MembershipPoint point{.rate = rate, .lambda = lambda};
      point.bound = build::membership_bound(rate, lambda);
      point.single = build::single_bloomier_bits(rate, lambda);
      point.chained = build::general_form(rate, lambda).bits();
      if (lambda * ln2 > 1 && 2 * rate * lambda * ln2 < 1)
        point.unrounded = build::general_bits_unrounded(rate, lambda);
      if (std::ranges::find(built_at, lambda) != built_at.end()) TRY(build_point(task, point));
      points.push_back(point);
    }
  return points;
}

// `build(universe)` gives a Result of a filter. `exact`: it is right for every key of the universe.
template <class Build>
Status add_row(std::vector<ConstructionRow> &rows, const char *name, const MembershipUniverse &universe,
               bool exact, Build build) {
  ConstructionRow row{.name = name, .universe = universe.keys()};
  const double start = cpu_ns();
  const auto filter = TRY(build(universe));
  row.build_ns = (cpu_ns() - start) / static_cast<double>(universe.keys());
  row.bits_per_positive = static_cast<double>(filter.bits()) / static_cast<double>(universe.positives.size());
  if (exact)
    row.errors = universe.positives.size() - accepted(filter, universe.positives) +
                 accepted(filter, universe.negatives);
  const double peak =
      8.0 * static_cast<double>(TRY(peak_memory_of([&] { return build(universe).has_value(); })));
  row.peak_bits =
      std::max(0.0, peak - static_cast<double>(filter.bits())) / static_cast<double>(universe.keys());
  rows.push_back(std::move(row));
  return {};
}

Result<std::vector<ConstructionRow>> rows_of(const MembershipTask &task) {
  std::vector<ConstructionRow> rows;
  for (const std::uint64_t n : {task.positives, 4 * task.positives}) {
    const MembershipUniverse universe(n, task.lambda, task.seed);
    TRY(add_row(rows, "&", universe, true, [&](const MembershipUniverse &u) {
      return build::ChainedAnd<4>::build(u.positives, u.negatives, 1, task.seed);
    }));
    TRY(add_row(rows, "exact Bloomier", universe, true, [&](const MembershipUniverse &u) {
      return build::exact_bloomier<4>(u.positives, u.negatives, 1, task.seed);
    }));
    TRY(add_row(rows, "& ~", universe, true, [&](const MembershipUniverse &u) {
      return build::ChainedAndNot<build::BinaryFuse4>::build(u.positives, u.negatives, {}, 1, task.seed);
    }));
    // Of so many bits that it accepts a hundredth of a negative a positive.
    TRY(add_row(rows, "approximate Bloomier", universe, false, [&](const MembershipUniverse &u) {
      return build::BinaryFuse4::build(
          u.positives,
          *build::BinaryFuse4::shape_for_rate(static_cast<double>(u.positives.size()), 0.01 / task.lambda), 1,
          task.seed);
    }));
  }
  return rows;
}

} // namespace

Result<MembershipReport> run_membership(const MembershipTask &task) {
  MembershipReport report{.task = task, .points = {}, .rows = {}};
  report.points = TRY(points_of(task));
  report.rows = TRY(rows_of(task));
  return report;
}

std::string json_of(const MembershipReport &report) {
  nlohmann::ordered_json json{
      {"positives", report.task.positives}, {"lambda", report.task.lambda}, {"seed", report.task.seed}};
  const auto or_null = [](double value, bool there) {
    return there ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  for (const MembershipPoint &p : report.points)
    json["figure_4"].push_back({{"rate", p.rate},
                                {"lambda", p.lambda},
                                {"lower_bound", p.bound},
                                {"single", p.single},
                                {"chained", p.chained},
                                {"chained_unrounded", or_null(p.unrounded, p.unrounded > 0)},
                                {"built_bits_per_positive", or_null(p.built, p.built > 0)},
                                {"built_accepted", or_null(p.accepted, p.built > 0)},
                                {"strategy_b_accepted", or_null(p.accepted_plain, p.built > 0)}});
  for (const ConstructionRow &row : report.rows)
    json["table_2"].push_back({{"filter", row.name},
                               {"universe", row.universe},
                               {"build_ns_per_key", row.build_ns},
                               {"bits_per_positive", row.bits_per_positive},
                               {"peak_bits_per_key", row.peak_bits},
                               {"errors", row.errors}});
  return json.dump(2);
}

} // namespace weir::lab
